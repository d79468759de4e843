//! Conductor, workers and record threads: runs the load and emits events
