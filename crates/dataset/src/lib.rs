//! What a benchmark says: conversations from synthetic text and files
