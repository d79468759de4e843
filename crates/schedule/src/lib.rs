//! When a benchmark says it: phases, slots and arrivals as a pure state machine
