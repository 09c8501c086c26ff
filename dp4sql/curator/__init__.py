"""What the curator runs against the data itself. Its results are exact: they are not for analysts."""
