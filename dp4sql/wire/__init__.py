"""The Postgres protocol without sockets: messages and replies are data, connection is the state machine; values,
parameters, numerics, intervals encode and decode; auth is SCRAM."""
