//! The body of a request as it goes out.

use bytes::Bytes;
use std::borrow::Cow;
use std::sync::Arc;

/// Pieces of bytes that follow each other. What requests share (the turns before, the frame around them) is one piece
/// for all of them, so that a body costs what is new in it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Body(Option<Arc<Pieces>>);

#[derive(Debug)]
struct Pieces {
    pieces: Vec<Bytes>,
    len: usize,
    /// The same in JSON, where it goes out in another form.
    payload: Option<Bytes>,
    /// Bytes that no other body holds.
    owned: usize,
}

impl Body {
    pub fn new(pieces: Vec<Bytes>) -> Self {
        Self::of(pieces, None)
    }

    /// A body that is not JSON, and its content as JSON.
    pub fn with_payload(pieces: Vec<Bytes>, payload: Bytes) -> Self {
        Self::of(pieces, Some(payload))
    }

    /// A body of which so many bytes are held by others too, such as the turns before it, which their session keeps.
    pub fn sharing(pieces: Vec<Bytes>, shared: usize) -> Self {
        let len = pieces.iter().map(Bytes::len).sum::<usize>();
        Self(Some(Arc::new(Pieces { pieces, len, payload: None, owned: len.saturating_sub(shared) })))
    }

    fn of(pieces: Vec<Bytes>, payload: Option<Bytes>) -> Self {
        let len = pieces.iter().map(Bytes::len).sum();
        let owned = len + payload.as_ref().map_or(0, Bytes::len);
        Self(Some(Arc::new(Pieces { pieces, len, payload, owned })))
    }

    /// The same body, whose owner keeps it as long as it may be sent: no request holds memory for it.
    #[must_use]
    pub fn kept(&self) -> Self {
        let payload = self.0.as_ref().and_then(|body| body.payload.clone());
        let (pieces, len) = (self.pieces().to_vec(), self.len());
        Self(Some(Arc::new(Pieces { pieces, len, payload, owned: 0 })))
    }

    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |body| body.len)
    }

    /// Bytes that it holds in memory, those that others share included.
    pub fn held(&self) -> usize {
        self.len() + self.payload_len()
    }

    /// Bytes that are in memory for the request alone: none of a body that is kept anyway, and of a session's what is
    /// new in it.
    pub fn owned(&self) -> usize {
        self.0.as_ref().map_or(0, |body| body.owned)
    }

    /// Bytes of its content as JSON, where it goes out in another form.
    pub fn payload_len(&self) -> usize {
        self.0.as_ref().and_then(|body| body.payload.as_ref()).map_or(0, Bytes::len)
    }

    /// The same body without its content as JSON.
    #[must_use]
    pub fn without_payload(&self) -> Self {
        let owned = self.owned().saturating_sub(self.payload_len());
        let (pieces, len) = (self.pieces().to_vec(), self.len());
        Self(Some(Arc::new(Pieces { pieces, len, payload: None, owned })))
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn pieces(&self) -> &[Bytes] {
        self.0.as_ref().map_or(&[], |body| &body.pieces)
    }

    /// All pieces as one.
    pub fn joined(&self) -> Cow<'_, [u8]> {
        match self.pieces() {
            [] => Cow::Borrowed(&[]),
            [only] => Cow::Borrowed(only),
            pieces => Cow::Owned(pieces.concat()),
        }
    }

    /// Its content as JSON: the body itself, unless it goes out in another form.
    pub fn payload(&self) -> Cow<'_, [u8]> {
        match self.0.as_ref().and_then(|body| body.payload.as_ref()) {
            Some(payload) => Cow::Borrowed(payload),
            None => self.joined(),
        }
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self::new(vec![bytes.into()])
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.joined() == other.joined()
    }
}

impl Eq for Body {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_its_pieces_one_after_the_other() {
        let body = Body::new(vec!["{".into(), "}".into()]);
        assert_eq!((body.len(), &*body.joined(), &*body.payload()), (2, &b"{}"[..], &b"{}"[..]));
        assert_eq!(body, Body::from("{}"));
        assert!(Body::default().joined().is_empty());
    }

    #[test]
    fn a_form_has_the_content_of_its_payload() {
        let form = Body::with_payload(vec!["--x--".into()], "{}".into());
        assert_eq!((&*form.joined(), &*form.payload()), (&b"--x--"[..], &b"{}"[..]));
        assert_eq!((form.len(), form.held()), (5, 7));
        assert_eq!((form.without_payload().held(), form.without_payload() == form), (5, true));
    }

    #[test]
    fn a_body_that_is_kept_takes_no_memory_of_requests() {
        let form = Body::with_payload(vec!["--x--".into()], "{}".into());
        let kept = form.kept();
        assert_eq!((form.owned(), kept.owned(), kept.without_payload().owned()), (7, 0, 0));
        assert_eq!((kept.held(), &*kept.payload()), (7, &b"{}"[..]));
    }

    #[test]
    fn of_a_body_that_shares_pieces_only_the_rest_is_its_own() {
        let body = Body::sharing(vec!["shared".into(), "new".into()], 6);
        assert_eq!((body.len(), body.held(), body.owned()), (9, 9, 3));
    }
}
