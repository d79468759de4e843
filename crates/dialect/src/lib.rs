//! How each API wants it said: request bodies, server-sent events, response parsing
