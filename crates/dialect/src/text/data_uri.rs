//! Data in place of a URL: `data:image/png;base64,iVBO...`.

/// The parts of a data URI, as they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataUri<'a> {
    /// Without parameters; empty where it names none.
    pub(crate) media_type: &'a str,
    pub(crate) is_base64: bool,
    /// `None` where there is no comma.
    pub(crate) data: Option<&'a str>,
}

const SCHEME: &str = "data:";

/// `None` where it is something else. Like any scheme, this one may be in capitals.
pub(crate) fn data_uri(text: &str) -> Option<DataUri<'_>> {
    text.get(..SCHEME.len()).filter(|scheme| scheme.eq_ignore_ascii_case(SCHEME))?;
    let rest = &text[SCHEME.len()..];
    let (head, data) = rest.split_once(',').map_or((rest, None), |(head, data)| (head, Some(data)));
    let (media_type, parameters) = head.split_once(';').unwrap_or((head, ""));
    let is_base64 = parameters.rsplit(';').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("base64"));
    Some(DataUri { media_type, is_base64, data })
}

impl<'a> DataUri<'a> {
    /// What of a family it is, as `png` of `image`; `x-wav` is what `wav` was called before it had a name.
    pub(crate) fn subtype(&self, family: &str) -> Option<&'a str> {
        let (of, subtype) = self.media_type.split_once('/')?;
        let subtype = subtype.get(..2).filter(|x| x.eq_ignore_ascii_case("x-")).map_or(subtype, |_| &subtype[2..]);
        of.eq_ignore_ascii_case(family).then_some(subtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_uri_has_a_type_and_data() {
        for (text, wanted) in [
            ("data:image/png;base64,AA,A", Some(("image/png", true, Some("AA,A")))),
            ("DATA:audio/webm;codecs=opus;BASE64,AA", Some(("audio/webm", true, Some("AA")))),
            ("data:,hi", Some(("", false, Some("hi")))),
            ("data:audio/wav", Some(("audio/wav", false, None))),
            ("dat\u{e9}:x,", None),
            ("https://h/data:", None),
        ] {
            let found = data_uri(text).map(|uri| (uri.media_type, uri.is_base64, uri.data));
            assert_eq!(found, wanted, "{text}");
        }
        let subtype = |text| data_uri(text).and_then(|uri| uri.subtype("audio"));
        assert_eq!(subtype("data:Audio/x-wav;base64,"), Some("wav"));
        assert_eq!(subtype("data:video/mp4;base64,"), None);
    }
}
