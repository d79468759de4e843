//! Flags, YAML and environment to a plan, and every message about bad input
