//! What the type of a body means.

/// Whether a body of this type is bytes rather than text.
pub fn is_binary(media_type: &str) -> bool {
    let kind = media_type.to_ascii_lowercase();
    let is_media = ["video/", "image/", "audio/"].iter().any(|family| kind.starts_with(family));
    is_media || kind == "application/octet-stream"
}
