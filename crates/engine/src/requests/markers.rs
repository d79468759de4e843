//! Markers that keep prompts out of a server's cache. Bodies are encoded once with a placeholder. When a session sends
//! a body, its marker replaces the placeholder; the rest of the body stays one copy.

use aiperf_plan::additions::{PLACEHOLDER, WARMUP_MARKER, base_trace_id, session_marker};
use aiperf_plan::{CacheBust, MarkerKind, Plan};
use aiperf_types::{Body, CacheMarker, PhaseIndex, PhaseKind};
use bytes::Bytes;
use std::ops::Range;

/// Separates a marker from the text beside it, as escaped in JSON.
const GAP: &str = r"\n\n";

/// The markers of a run; none if the plan has no cache busting.
#[derive(Debug)]
pub(crate) struct Markers {
    bust: Option<CacheBust>,
    benchmark_id: String,
    /// Whether a phase is a warm-up, by phase.
    warmups: Vec<bool>,
}

/// The position of a marker in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MarkerSpot {
    piece: usize,
    /// The range that the marker replaces.
    marker: Range<usize>,
    /// The range that is removed if there is no marker: with its separator, or the whole message part if it contains
    /// nothing else.
    whole: Range<usize>,
}

impl Markers {
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            bust: plan.additions.cache_bust,
            benchmark_id: plan.run.benchmark_id.clone(),
            warmups: plan.phases.iter().map(|phase| phase.kind == PhaseKind::Warmup).collect(),
        }
    }

    /// Whether requests have markers. Then the prompts of no two sessions are equal.
    pub(crate) fn are_used(&self) -> bool {
        self.bust.is_some()
    }

    /// The positions of the placeholders in a newly encoded body.
    pub(crate) fn find(&self, body: &Body) -> Vec<MarkerSpot> {
        if self.bust.is_none() {
            return Vec::new();
        }
        let texts = body.pieces().iter().map(|piece| std::str::from_utf8(piece).unwrap_or_default()).enumerate();
        texts
            .flat_map(|(piece, text)| text.match_indices(PLACEHOLDER).map(move |(at, _)| spot(piece, text, at)))
            .collect()
    }

    /// The marker of a session in a phase, without its separator; `None` if it has none.
    pub(crate) fn marker(&self, phase: PhaseIndex, session: u64, conversation_id: &str) -> Option<String> {
        let is_warmup = self.warmups.get(usize::from(phase.0)).is_some_and(|is_warmup| *is_warmup);
        match self.bust?.marker {
            MarkerKind::Warmup => is_warmup.then(|| WARMUP_MARKER.to_owned()),
            MarkerKind::Prefix | MarkerKind::Suffix => {
                Some(session_marker(&self.benchmark_id, session, session, base_trace_id(conversation_id)))
            }
        }
    }

    /// A body with this marker, and the marker as its record shows it.
    pub(crate) fn splice(
        &self,
        body: &Body,
        spots: &[MarkerSpot],
        marker: Option<String>,
    ) -> (Body, Option<CacheMarker>) {
        let (Some(bust), Some(marker)) = (self.bust, marker) else { return (without(body, spots), None) };
        let recorded = CacheMarker { text: bust.with_gap(&marker).into(), target: bust.target() };
        (with(body, spots, marker.into()), Some(recorded))
    }
}

/// A body without any marker.
pub(crate) fn without(body: &Body, spots: &[MarkerSpot]) -> Body {
    spliced(body, spots.iter().map(|spot| (spot.piece, spot.whole.clone())), None)
}

fn with(body: &Body, spots: &[MarkerSpot], marker: Bytes) -> Body {
    spliced(body, spots.iter().map(|spot| (spot.piece, spot.marker.clone())), Some(marker))
}

fn spliced(body: &Body, places: impl Iterator<Item = (usize, Range<usize>)>, marker: Option<Bytes>) -> Body {
    let mut places = places.peekable();
    if places.peek().is_none() {
        return body.clone();
    }
    let mut pieces = Vec::with_capacity(body.pieces().len() + 4);
    let mut new = 0;
    for (index, piece) in body.pieces().iter().enumerate() {
        let mut done = 0;
        while let Some((_, place)) = places.next_if(|(of, _)| *of == index) {
            pieces.push(piece.slice(done..place.start.max(done)));
            new += marker.as_ref().map_or(0, Bytes::len);
            pieces.extend(marker.clone());
            done = place.end;
        }
        pieces.push(piece.slice(done..));
    }
    let len: usize = pieces.iter().map(Bytes::len).sum();
    // The owner of the body holds all bytes except the markers. A body that is kept for the run adds no memory per
    // request.
    let shared = len.saturating_sub(body.owned() + new);
    Body::sharing(pieces, shared)
}

fn spot(piece: usize, text: &str, at: usize) -> MarkerSpot {
    let (before, after) = (&text[..at], &text[at + PLACEHOLDER.len()..]);
    let end = at + PLACEHOLDER.len();
    let whole = if before.ends_with('"') && after.starts_with('"') {
        part(text, at, end)
    } else if after.starts_with(GAP) {
        at..end + GAP.len()
    } else if before.ends_with(GAP) {
        at - GAP.len()..end
    } else {
        at..end
    };
    MarkerSpot { piece, marker: at..end, whole }
}

/// The object that contains only a marker, with the comma that separates it from its neighbour.
fn part(text: &str, at: usize, end: usize) -> Range<usize> {
    let (Some(open), Some(close)) = (text[..at].rfind('{'), text[end..].find('}')) else { return at..end };
    let close = end + close + 1;
    if text[close..].starts_with(',') {
        open..close + 1
    } else if text[..open].ends_with(',') {
        open - 1..close
    } else {
        open..close
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_plan::MarkerPlace;

    fn markers() -> Markers {
        let bust = CacheBust { place: MarkerPlace::FirstTurn, marker: MarkerKind::Prefix };
        Markers { bust: Some(bust), benchmark_id: "b".into(), warmups: vec![true, false] }
    }

    fn body(pieces: &[String]) -> Body {
        Body::new(pieces.iter().map(|piece| Bytes::from(piece.clone())).collect())
    }

    fn text(body: &Body) -> String {
        String::from_utf8(body.joined().into_owned()).unwrap()
    }

    #[test]
    fn a_marker_replaces_its_placeholder_in_any_piece() {
        let body = body(&["{\"a\":".into(), format!("\"{PLACEHOLDER}\\n\\nhi\",\"b\":\"x\\n\\n{PLACEHOLDER}\"}}")]);
        let spots = markers().find(&body);
        assert_eq!(spots.len(), 2);
        let marked = with(&body, &spots, "[rid:0123456789ab]".into());
        assert_eq!(text(&marked), r#"{"a":"[rid:0123456789ab]\n\nhi","b":"x\n\n[rid:0123456789ab]"}"#);
        assert_eq!(text(&without(&body, &spots)), r#"{"a":"hi","b":"x"}"#);
        assert_eq!(marked.len(), text(&marked).len());
    }

    #[test]
    fn a_message_part_with_only_a_marker_is_removed_as_a_whole() {
        let part = format!(r#"{{"type":"text","text":"{PLACEHOLDER}"}}"#);
        for (list, left) in [
            (format!("[{part},{{\"type\":\"image\"}}]"), r#"[{"type":"image"}]"#),
            (format!("[{{\"type\":\"image\"}},{part}]"), r#"[{"type":"image"}]"#),
            (format!("[{part}]"), "[]"),
        ] {
            let body = body(&[list]);
            assert_eq!(text(&without(&body, &markers().find(&body))), left);
        }
    }

    #[test]
    fn a_marked_body_that_is_kept_owns_only_its_marker() {
        let kept = body(&[format!("{PLACEHOLDER}\\n\\nhi")]).kept();
        let marked = with(&kept, &markers().find(&kept), "[warmup]".into());
        assert_eq!((marked.owned(), marked.len()), (8, 14));
    }
}
