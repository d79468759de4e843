//! One run wired together, and many
