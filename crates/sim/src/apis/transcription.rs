//! `/v1/audio/transcriptions`, as vLLM 0.32 answers it: a form with a file in, JSON or bare text out.

use serde_json::json;

use super::{
    Api, ApiError, Ask, Example, InferenceRequest, Output, PlannedResponse, Reading, Statuses, Streams, WholeBody,
    Wording,
};

/// Bytes a second of audio whose rate is not known: 16 kHz, 16 bits, one channel.
const BYTES_PER_SECOND: u64 = 32_000;
const FORMATS: [&str; 2] = ["json", "text"];

pub(super) const API: Api = Api {
    name: "audio_transcription",
    method: "POST",
    paths: &["/v1/audio/transcriptions"],
    streams: Streams::Never,
    output: Output::Text { reasoning: false },
    read,
    error: ApiError::openai,
    statuses: Statuses::VLLM,
    example: Example {
        content_type: "multipart/form-data; boundary=B",
        body: "--B\r\nContent-Type: audio/wav\r\nContent-Disposition: form-data; name=\"file\"; \
               filename=\"audio.wav\"\r\n\r\nRIFF\r\n--B--\r\n",
    },
};

fn read(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let form = ask.form()?;
    let file = form.file("file").ok_or_else(|| ask.missing("file"))?;
    let format = form.text("response_format").unwrap_or(FORMATS[0]);
    if !FORMATS.contains(&format) {
        let message = "Currently only support response_format: `text`, `json`".to_owned();
        return Err(ApiError::bad_request(message, "response_format"));
    }
    let seconds = seconds_of(file.data);
    let request = InferenceRequest {
        model: form.text("model").map(str::to_owned),
        noted: vec![("audio_bytes", file.data.len().into()), ("audio_seconds", seconds.into())],
        ..InferenceRequest::default()
    };
    Ok((request, Box::new(Transcription { seconds, is_text: format == "text" })))
}

/// The duration of audio, in whole seconds rounded up.
fn seconds_of(audio: &[u8]) -> u64 {
    let byte_rate = audio.get(28..32).filter(|_| audio.starts_with(b"RIFF") && audio.get(8..12) == Some(b"WAVE"));
    let rate = byte_rate.map_or(0, |rate| rate.iter().rev().fold(0, |rate, byte| rate << 8 | u64::from(*byte)));
    let (bytes, rate) = match rate {
        0 => (audio.len() as u64, BYTES_PER_SECOND),
        rate => (audio.len() as u64 - 44.min(audio.len() as u64), rate),
    };
    bytes.div_ceil(rate)
}

struct Transcription {
    seconds: u64,
    is_text: bool,
}

impl Wording for Transcription {
    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        let text = planned.text(0, 0, planned.length.tokens).into_owned();
        if self.is_text {
            return WholeBody { content_type: "text/plain; charset=utf-8", bytes: text.into_bytes() };
        }
        let body = json!({"text": text, "usage": {"type": "duration", "seconds": self.seconds}});
        WholeBody::json(body.to_string())
    }
}
