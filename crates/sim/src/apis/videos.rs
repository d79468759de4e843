//! `/v1/videos`, in the form of servers of video models: a form starts a job, GETs poll it and fetch its video.
//!
//! The script decides how long a job takes and how many fail. Polling takes no time and no place in the batch.

use std::sync::Arc;

use rand::RngExt;
use serde_json::{Value, json};

use super::error::fastapi;
use super::jobs::{Job, Jobs, Progress, SECONDS, SIZE};
use super::text::prompt_tokens;
use super::{
    Api, ApiError, Ask, Example, InferenceRequest, Output, PlannedResponse, Reading, Statuses, Streams, WholeBody,
    Wording, mixed,
};
use crate::clock::monotonic_ns;
use crate::http::Status;
use crate::script::Purpose;

const PEAK_MEMORY_MB: f64 = 24_576.0;
const VIDEO_BYTES: usize = 64 << 10;

pub(super) const SUBMIT: Api = Api {
    name: "video_generation",
    method: "POST",
    paths: &["/v1/videos"],
    streams: Streams::Never,
    output: Output::Result,
    read: read_submit,
    error: fastapi,
    statuses: Statuses::FASTAPI,
    example: Example {
        content_type: "multipart/form-data; boundary=B",
        body: "--B\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nword\r\n--B--\r\n",
    },
};

pub(super) const POLL: Api = Api {
    name: "video_status",
    method: "GET",
    paths: &["/v1/videos/{video_id}"],
    streams: Streams::Never,
    output: Output::Lookup,
    read: read_poll,
    error: fastapi,
    statuses: Statuses::FASTAPI,
    example: Example::json(""),
};

pub(super) const CONTENT: Api = Api {
    name: "video_content",
    method: "GET",
    paths: &["/v1/videos/{video_id}/content"],
    streams: Streams::Never,
    output: Output::Lookup,
    read: read_content,
    error: fastapi,
    statuses: Statuses::FASTAPI,
    example: Example::json(""),
};

fn read_submit(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let form = ask.form()?;
    let prompt = form.text("prompt").ok_or_else(|| ask.missing("prompt"))?;
    let mut random = ask.script.random(Purpose::Job, ask.number);
    let id = format!("video_{:016x}", mixed(ask.number));
    let request = InferenceRequest {
        model: form.text("model").map(str::to_owned),
        prompt_tokens: prompt_tokens(prompt),
        noted: vec![("job", id.as_str().into())],
        ..InferenceRequest::default()
    };
    let submitted = Submitted {
        jobs: Arc::clone(ask.jobs),
        job: Job {
            id,
            model: String::new(),
            created: 0,
            submitted_ns: 0,
            time_ns: ask.script.config.video_time.draw_ns(&mut random),
            fails: random.random::<f64>() < ask.script.config.video_failures,
            size: form.text("size").unwrap_or(SIZE).to_owned(),
            seconds: form.text("seconds").unwrap_or(SECONDS).to_owned(),
        },
    };
    Ok((request, Box::new(submitted)))
}

/// The job of a path such as `/v1/videos/ID` or `/v1/videos/ID/content`.
fn job_of(ask: &Ask<'_>) -> Result<(Job, Progress), ApiError> {
    let id = ask.path.split('/').nth(3).unwrap_or_default();
    let job = ask.jobs.find(id).ok_or_else(|| not_found("Video not found"))?;
    let progress = job.progress(monotonic_ns());
    Ok((job, progress))
}

fn not_found(message: &str) -> ApiError {
    let error = ApiError::of_status(Status::NOT_FOUND);
    ApiError { message: message.to_owned(), ..error }
}

fn read_poll(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let (job, progress) = job_of(ask)?;
    let noted = vec![("job", job.id.as_str().into()), ("job_status", progress.name().into())];
    Ok((InferenceRequest { noted, ..InferenceRequest::default() }, Box::new(Polled { job, progress })))
}

fn read_content(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let (job, progress) = job_of(ask)?;
    match progress {
        Progress::Completed => {}
        Progress::Failed => return Err(not_found("Generation failed: there is no video")),
        Progress::Queued | Progress::Running(_) => return Err(not_found("Generation is still in-progress")),
    }
    let noted = vec![("job", job.id.as_str().into()), ("video_bytes", VIDEO_BYTES.into())];
    Ok((InferenceRequest { noted, ..InferenceRequest::default() }, Box::new(Content)))
}

fn video(job: &Job, progress: Progress) -> Value {
    let (is_done, seconds) = (progress == Progress::Completed, job.time_ns as f64 / 1e9);
    let error = match progress {
        Progress::Failed => json!({"code": "generation_failed", "message": "The scripted failure of this job"}),
        _ => Value::Null,
    };
    json!({
        "id": job.id, "object": "video", "model": job.model, "status": progress.name(),
        "progress": progress.percent(), "created_at": job.created, "size": job.size, "seconds": job.seconds,
        "quality": "standard", "url": null, "remixed_from_video_id": null,
        "completed_at": is_done.then(|| job.created + seconds.ceil() as u64), "expires_at": null, "error": error, "file_path": null,
        "peak_memory_mb": is_done.then_some(PEAK_MEMORY_MB), "inference_time_s": is_done.then_some(seconds),
    })
}

/// A job that begins with the response.
struct Submitted {
    jobs: Arc<Jobs>,
    job: Job,
}

impl Wording for Submitted {
    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        self.job.model = planned.model.clone();
        self.job.created = planned.created;
        self.job.submitted_ns = monotonic_ns();
        self.jobs.submit(self.job.clone());
        WholeBody::json(video(&self.job, Progress::Queued).to_string())
    }
}

struct Polled {
    job: Job,
    progress: Progress,
}

impl Wording for Polled {
    fn whole(&mut self, _: &PlannedResponse) -> WholeBody {
        WholeBody::json(video(&self.job, self.progress).to_string())
    }
}

struct Content;

impl Wording for Content {
    /// The boxes of an MP4 file, without any pictures.
    fn whole(&mut self, _: &PlannedResponse) -> WholeBody {
        const TYPE: &[u8] = b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2";
        let mut bytes = TYPE.to_vec();
        bytes.extend(((VIDEO_BYTES - TYPE.len()) as u32).to_be_bytes());
        bytes.extend(b"mdat");
        bytes.extend((bytes.len()..VIDEO_BYTES).map(|place| (place % 251) as u8));
        WholeBody { content_type: "video/mp4", bytes }
    }
}
