//! Forms of several parts (RFC 7578), parsed strictly: errors of a client are refused, not guessed at.

use memchr::memmem;

/// The longest boundary that RFC 2046 allows.
const LONGEST_BOUNDARY: usize = 70;

/// One part of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub(super) name: &'a str,
    /// A part with a file name is a file.
    pub(super) file_name: Option<&'a str>,
    pub(super) content_type: Option<&'a str>,
    pub(super) data: &'a [u8],
}

/// Why a body is not a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormError {
    /// The content type is another.
    OtherType,
    Broken(&'static str),
}

/// A form that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Form<'a>(Vec<Part<'a>>);

impl<'a> Form<'a> {
    pub(super) fn read(content_type: Option<&str>, body: &'a [u8]) -> Result<Self, FormError> {
        let (media, parameters) = content_type.unwrap_or_default().split_once(';').ok_or(FormError::OtherType)?;
        if !media.trim().eq_ignore_ascii_case("multipart/form-data") {
            return Err(FormError::OtherType);
        }
        let boundary = parameter(parameters, "boundary").ok_or(FormError::Broken("Missing boundary in multipart."))?;
        if boundary.is_empty() || boundary.len() > LONGEST_BOUNDARY {
            return Err(FormError::Broken("A boundary has from 1 to 70 characters."));
        }
        let delimiter = format!("\r\n--{boundary}");
        let finder = memmem::Finder::new(delimiter.as_bytes());
        // The first delimiter has no line before it.
        let mut rest = body
            .strip_prefix(&delimiter.as_bytes()[2..])
            .ok_or(FormError::Broken("Expected boundary character at index 2"))?;
        let mut parts = Vec::new();
        loop {
            if let Some(end) = rest.strip_prefix(b"--") {
                return match end {
                    b"" | b"\r\n" => Ok(Form(parts)),
                    _ => Err(FormError::Broken("There is something after the last boundary.")),
                };
            }
            rest = rest.strip_prefix(b"\r\n").ok_or(FormError::Broken("A boundary ends with CRLF."))?;
            let end = finder.find(rest).ok_or(FormError::Broken("The last boundary is missing."))?;
            parts.push(Part::read(&rest[..end])?);
            rest = &rest[end + delimiter.len()..];
        }
    }

    pub(super) fn part(&self, name: &str) -> Option<&Part<'a>> {
        self.0.iter().find(|part| part.name == name)
    }

    /// A part that is a non-empty file.
    pub(super) fn file(&self, name: &str) -> Option<&Part<'a>> {
        self.part(name).filter(|part| part.file_name.is_some() && !part.data.is_empty())
    }

    /// A part that is text.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.part(name).filter(|part| part.file_name.is_none()).and_then(|part| std::str::from_utf8(part.data).ok())
    }
}

impl<'a> Part<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, FormError> {
        let blank = memmem::find(bytes, b"\r\n\r\n").ok_or(FormError::Broken("The head of a part does not end."))?;
        let head =
            std::str::from_utf8(&bytes[..blank]).map_err(|_| FormError::Broken("The head of a part is text."))?;
        let mut part = Part { name: "", file_name: None, content_type: None, data: &bytes[blank + 4..] };
        let mut is_named = false;
        for line in head.split("\r\n") {
            let (name, value) =
                line.split_once(':').ok_or(FormError::Broken("A line in the head of a part has no colon."))?;
            if name.is_empty() || name.bytes().any(|byte| !byte.is_ascii_graphic()) {
                return Err(FormError::Broken("A header of a part has no valid name."));
            }
            if name.eq_ignore_ascii_case("content-disposition") {
                let (kind, parameters) = value.split_once(';').unwrap_or((value, ""));
                if !kind.trim().eq_ignore_ascii_case("form-data") {
                    return Err(FormError::Broken("A part is form-data."));
                }
                part.name = parameter(parameters, "name").ok_or(FormError::Broken("A part has no name."))?;
                part.file_name = parameter(parameters, "filename");
                is_named = true;
            } else if name.eq_ignore_ascii_case("content-type") {
                part.content_type = Some(value.trim());
            }
        }
        if is_named { Ok(part) } else { Err(FormError::Broken("A part has no Content-Disposition.")) }
    }
}

/// The value of a parameter such as `name="value"`.
fn parameter<'a>(parameters: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = parameters;
    loop {
        let (name, after) = rest.split_once('=')?;
        let (value, next) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => {
                let end = quoted.find('"')?;
                (&quoted[..end], &quoted[end + 1..])
            }
            None => after.split_at(after.find(';').unwrap_or(after.len())),
        };
        if name.trim_matches([' ', ';']).eq_ignore_ascii_case(wanted) {
            return Some(value.trim());
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: Option<&str> = Some("multipart/form-data; boundary=B");
    const GOOD: &str = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--B\r\nContent-Type: image/png\r\n\
                        Content-Disposition: form-data; name=\"f\"; filename=\"x.png\"\r\n\r\n\r\n-\r\n--B--\r\n";

    #[test]
    fn texts_and_files_are_distinguished() {
        let form = Form::read(TYPE, GOOD.as_bytes()).unwrap();
        assert_eq!(form.text("a"), Some("one"));
        let file = form.file("f").unwrap();
        assert_eq!((file.file_name, file.content_type, file.data), (Some("x.png"), Some("image/png"), &b"\r\n-"[..]));
        assert_eq!((form.text("f"), form.file("a")), (None, None));
    }

    #[test]
    fn a_boundary_may_stand_in_quotes() {
        assert!(Form::read(Some("Multipart/Form-Data; charset=utf-8; boundary=\"B\""), GOOD.as_bytes()).is_ok());
    }

    #[test]
    fn what_is_broken_is_refused() {
        assert_eq!(Form::read(Some("application/json"), b"{}"), Err(FormError::OtherType));
        assert_eq!(Form::read(None, b""), Err(FormError::OtherType));
        for content_type in ["multipart/form-data; charset=utf-8", "multipart/form-data; boundary="] {
            assert!(matches!(Form::read(Some(content_type), GOOD.as_bytes()), Err(FormError::Broken(_))));
        }
        for broken in [
            GOOD.replace("--B--", "--B"),
            GOOD.replace("--B--", "--C--"),
            GOOD.replacen("--B", "-B", 1),
            GOOD.replace("\r\n\r\n", "\r\n"),
            GOOD.replace("Content-Disposition: ", "Content-Disposition "),
            GOOD.replace("name=\"a\"", "nome=\"a\""),
            GOOD.replace("form-data;", "attachment;"),
            GOOD.replace("Content-Disposition: form-data; name=\"a\"", "X: y"),
            format!("{GOOD}more"),
            format!("before{GOOD}"),
        ] {
            assert!(matches!(Form::read(TYPE, broken.as_bytes()), Err(FormError::Broken(_))), "{broken}");
        }
    }
}
