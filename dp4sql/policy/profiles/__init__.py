"""Profiles: what may be released of one entity, in which public categories."""

from dp4sql.policy.profiles.load import load_profiles
from dp4sql.policy.profiles.types import Category, Compatibility, Domain, Field, Link, Profile

__all__ = ["Category", "Compatibility", "Domain", "Field", "Link", "Profile", "load_profiles"]
