//! Sockets, HTTP/1.1 and the byte timeline: every read with its instant and lag
