//! The validated plan of a benchmark and the rules between its fields
