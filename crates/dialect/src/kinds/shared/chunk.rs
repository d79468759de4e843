//! The common parts of chat and completions: a chunk of a stream, or a whole response, and its choices.

use crate::response::reader::{
    Piece, ResponseError, error_in, given_up, given_up_by, groq_error, minimax_error, spec_decode_from, usage_from,
};
use crate::text::json::{self, is_truthy};
use crate::text::lenient::Str;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A chunk, with its choices as they are read: strictly, or in any form.
#[derive(Deserialize)]
pub(crate) struct Chunk<'a, C> {
    #[serde(default, borrow)]
    pub(crate) object: Str<'a>,
    #[serde(default, bound(deserialize = "C: Deserialize<'de> + Default"))]
    pub(crate) choices: C,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    metrics: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
    /// Members of vendors that may report an error beside choices.
    #[serde(default, borrow)]
    x_groq: Option<&'a RawValue>,
    #[serde(default, borrow)]
    base_resp: Option<&'a RawValue>,
}

impl<C> Chunk<'_, C> {
    /// Whether it may contain an error.
    pub(crate) fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// Its content besides the choices.
    pub(crate) fn beside_choices(&self) -> Piece<'static> {
        Piece {
            usage: self.usage.and_then(usage_from),
            spec_decode: self.metrics.and_then(spec_decode_from),
            error: error_in(self.error)
                .or_else(|| groq_error(&json::read(self.x_groq?.get())?))
                .or_else(|| minimax_error(&json::read(self.base_resp?.get())?)),
            ..Piece::default()
        }
    }
}

/// How choices ended, where they report it.
#[derive(Default)]
pub(crate) struct Finish {
    has_come: bool,
    error: Option<ResponseError>,
}

impl Finish {
    /// Takes the finish reason of a choice (a name, or an object) and its error, which OpenRouter puts there.
    pub(crate) fn take(&mut self, reason: Option<&RawValue>, error: Option<&RawValue>) {
        self.error = self.error.take().or_else(|| error_in(error));
        let reason = reason.and_then(|reason| json::read::<Value>(reason.get()));
        let is_reason = |reason: &Value| (reason.is_string() || reason.is_object()) && is_truthy(Some(reason));
        if let Some(reason) = reason.filter(is_reason) {
            self.has_come = true;
            self.error = self.error.take().or_else(|| given_up(&reason));
        }
    }

    /// Takes the reason to stop of a choice, which some servers have instead of a finish reason. In vLLM it is the text
    /// that stopped the choice, whatever that is, with the finish reason `stop`.
    pub(crate) fn take_stop(&mut self, stop: Option<&RawValue>, reason: Option<&RawValue>) {
        let Some(stop) = stop.filter(|_| reason.is_none_or(|reason| reason.get() != "\"stop\"")) else { return };
        let of_stop = || given_up_by("stop_reason", &json::read::<Value>(stop.get())?);
        self.error = self.error.take().or_else(of_stop);
    }

    /// Takes the finish reason of the provider behind OpenRouter, which may be another one. It ends no choice.
    pub(crate) fn take_native(&mut self, reason: Option<&RawValue>) {
        let of_reason = || given_up_by("native_finish_reason", &json::read::<Value>(reason?.get())?);
        self.error = self.error.take().or_else(of_reason);
    }

    /// The piece that these choices are in.
    pub(crate) fn of(self, piece: Piece<'_>) -> Piece<'_> {
        Piece { finishes: self.has_come, error: piece.error.or(self.error), ..piece }
    }
}
