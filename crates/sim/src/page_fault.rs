//! Intentional faults of metrics pages, and which pages have them.
//!
//! A fault is written `KIND=PAGES` or `KIND:ARGUMENT=PAGES`, such as `restart=5`, `status:503=3-6` or `gzip=1-`. Pages
//! are numbered from 1; `N` is one page, `N-` every page from N on, `N-M` those from N to M. A page may have several
//! faults. Of those that leave nothing of the page (reset, redirect, status, json), the first one given applies.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::exposition::FamilyType;
use crate::redirect::Redirect;
use crate::spread::parse_duration;

/// Bytes of a huge page where no number is given.
const HUGE_BYTES: u64 = 100_000_000;

/// One way for a metrics page to go wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageFaultKind {
    /// From this page on everything counts from zero, and the server reports that it started just now. Running requests
    /// continue.
    Restart,
    /// A family is of another type.
    Type {
        family: String,
        becomes: FamilyType,
    },
    /// Malformed lines are among good ones.
    MalformedLines,
    /// No line is valid.
    Malformed,
    /// The page goes on without end.
    Endless,
    /// The page goes on until it has this many bytes.
    Huge(u64),
    /// The response begins this much later.
    Delay(Duration),
    /// The bytes of the page are spread over this time.
    Trickle(Duration),
    /// An error response with this HTTP status.
    Status(u16),
    /// The response is JSON, and declared as JSON.
    Json,
    Reset,
    /// The client is redirected a number of times before it gets the page.
    Redirect(Redirect),
    /// The page is compressed, whatever the client accepts.
    Gzip,
}

enum Argument {
    None(PageFaultKind),
    Time(fn(Duration) -> PageFaultKind),
    Bytes,
    Status,
    Redirect,
    Type,
}

struct Row {
    name: &'static str,
    argument: Argument,
}

/// Every kind, by the name the command line and the truth log use.
const ROWS: &[Row] = &[
    Row { name: "restart", argument: Argument::None(PageFaultKind::Restart) },
    Row { name: "type", argument: Argument::Type },
    Row { name: "malformed-lines", argument: Argument::None(PageFaultKind::MalformedLines) },
    Row { name: "malformed", argument: Argument::None(PageFaultKind::Malformed) },
    Row { name: "endless", argument: Argument::None(PageFaultKind::Endless) },
    Row { name: "huge", argument: Argument::Bytes },
    Row { name: "delay", argument: Argument::Time(PageFaultKind::Delay) },
    Row { name: "trickle", argument: Argument::Time(PageFaultKind::Trickle) },
    Row { name: "status", argument: Argument::Status },
    Row { name: "json", argument: Argument::None(PageFaultKind::Json) },
    Row { name: "reset", argument: Argument::None(PageFaultKind::Reset) },
    Row { name: "redirect", argument: Argument::Redirect },
    Row { name: "gzip", argument: Argument::None(PageFaultKind::Gzip) },
];

impl PageFaultKind {
    /// The name in the truth log.
    pub fn name(&self) -> &'static str {
        match self {
            PageFaultKind::Restart => "restart",
            PageFaultKind::Type { .. } => "type",
            PageFaultKind::MalformedLines => "malformed-lines",
            PageFaultKind::Malformed => "malformed",
            PageFaultKind::Endless => "endless",
            PageFaultKind::Huge(_) => "huge",
            PageFaultKind::Delay(_) => "delay",
            PageFaultKind::Trickle(_) => "trickle",
            PageFaultKind::Status(_) => "status",
            PageFaultKind::Json => "json",
            PageFaultKind::Reset => "reset",
            PageFaultKind::Redirect(_) => "redirect",
            PageFaultKind::Gzip => "gzip",
        }
    }
}

/// A fault and the pages that meet it, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFault {
    pub kind: PageFaultKind,
    pub first: u64,
    /// Without it, every page from the first on.
    pub last: Option<u64>,
}

impl PageFault {
    pub(crate) fn meets(&self, page: u64) -> bool {
        self.first <= page && self.last.is_none_or(|last| page <= last)
    }
}

impl FromStr for PageFault {
    type Err = PageFaultError;

    fn from_str(text: &str) -> Result<Self, PageFaultError> {
        let unreadable = |why: String| PageFaultError { text: text.to_owned(), why };
        let (what, pages) = text.rsplit_once('=').ok_or_else(|| unreadable("it has no `=PAGES`".into()))?;
        let (first, last) = parse_pages(pages)
            .ok_or_else(|| unreadable(format!("`{pages}` names no pages: 3 is one, 3- all from it on, 3-5 some")))?;
        let (name, argument) = match what.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (what, None),
        };
        let row = ROWS.iter().find(|row| row.name == name).ok_or_else(|| {
            let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
            unreadable(format!("`{name}` is none of {}", names.join(", ")))
        })?;
        let kind = row.argument.parse(name, argument).map_err(unreadable)?;
        Ok(PageFault { kind, first, last })
    }
}

impl Argument {
    fn parse(&self, name: &str, argument: Option<&str>) -> Result<PageFaultKind, String> {
        match (self, argument) {
            (Argument::None(kind), None) => Ok(kind.clone()),
            (Argument::None(_), Some(_)) => Err(format!("`{name}` takes no argument")),
            (Argument::Time(build), Some(time)) => parse_duration(time).map(build).map_err(|error| error.to_string()),
            (Argument::Time(_), None) => Err(format!("it wants a time, as in {name}:2s=3")),
            (Argument::Bytes, None) => Ok(PageFaultKind::Huge(HUGE_BYTES)),
            (Argument::Bytes, Some(bytes)) => {
                bytes.parse().map(PageFaultKind::Huge).map_err(|_| format!("`{bytes}` is not a number of bytes"))
            }
            (Argument::Status, Some(code)) => code
                .parse()
                .ok()
                .filter(|status| (400..600).contains(status))
                .map(PageFaultKind::Status)
                .ok_or_else(|| format!("`{code}` is not an HTTP status from 400 to 599")),
            (Argument::Status, None) => Err("it wants a status, as in status:503=3-6".into()),
            (Argument::Redirect, Some(argument)) => Redirect::parse(argument).map(PageFaultKind::Redirect),
            (Argument::Redirect, None) => Err("it wants a status, as in redirect:307=3".into()),
            (Argument::Type, argument) => {
                let parts = argument.and_then(|argument| argument.rsplit_once(','));
                let (family, word) =
                    parts.ok_or("it wants a family and a type, as in type:vllm:num_requests_running,histogram=3-")?;
                let becomes = FamilyType::ALL.into_iter().find(|kind| kind.name() == word);
                let becomes = becomes.ok_or_else(|| format!("`{word}` is none of gauge, counter, histogram"))?;
                Ok(PageFaultKind::Type { family: family.to_owned(), becomes })
            }
        }
    }
}

fn parse_pages(text: &str) -> Option<(u64, Option<u64>)> {
    let (first, last) = match text.split_once('-') {
        None => (text, Some(text)),
        Some((first, "")) => (first, None),
        Some((first, last)) => (first, Some(last)),
    };
    let first = first.parse().ok().filter(|first| *first > 0)?;
    let last =
        last.map(|last| last.parse().ok().filter(|last| *last >= first)).map_or(Some(None), |last| last.map(Some))?;
    Some((first, last))
}

/// Text that is no fault of a page.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct PageFaultError {
    text: String,
    why: String,
}

impl fmt::Display for PageFaultError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "metrics fault `{}`: {}", self.text, self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_and_named_alike() {
        for row in ROWS {
            let argument = match row.argument {
                Argument::None(_) | Argument::Bytes => "",
                Argument::Time(_) => ":20ms",
                Argument::Status => ":503",
                Argument::Redirect => ":307",
                Argument::Type => ":vllm:num_requests_running,histogram",
            };
            let read: PageFault = format!("{}{argument}=4", row.name).parse().unwrap();
            assert_eq!(read.kind.name(), row.name);
        }
    }

    #[test]
    fn pages_are_one_some_or_all_from_one_on() {
        for (text, met) in [("3", [3, 3, 3]), ("3-", [3, 4, 900]), ("3-5", [3, 4, 5])] {
            let fault: PageFault = format!("gzip={text}").parse().unwrap();
            assert!(met.iter().all(|page| fault.meets(*page)), "{text}");
            assert!(!fault.meets(2), "{text}");
        }
        assert!(!"gzip=3".parse::<PageFault>().unwrap().meets(4));
        assert!(!"gzip=3-5".parse::<PageFault>().unwrap().meets(6));
    }

    #[test]
    fn nonsense_is_refused_with_the_reason() {
        for (text, reason) in [
            ("restart", "no `=PAGES`"),
            ("restart=0", "names no pages"),
            ("restart=5-3", "names no pages"),
            ("restart=x", "names no pages"),
            ("bang=1", "none of restart, type"),
            ("delay=1", "wants a time"),
            ("gzip:9=1", "takes no argument"),
            ("status:200=1", "not an HTTP status"),
            ("huge:big=1", "not a number of bytes"),
            ("redirect:200=1", "none of 301"),
            ("type:x=1", "wants a family and a type"),
            ("type:x,summary=1", "none of gauge"),
        ] {
            let error = text.parse::<PageFault>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
