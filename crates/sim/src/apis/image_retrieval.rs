//! `/v1/infer` of NVIDIA NIM for object detection: bounding boxes for each image.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::nim;
use super::{
    Api, ApiError, Ask, Example, InferenceRequest, Output, PlannedResponse, Reading, Statuses, Streams, WholeBody,
    Wording, mixed,
};
use crate::http::Status;

const KINDS: [&str; 3] = ["table", "chart", "title"];

pub(super) const API: Api = Api {
    name: "image_retrieval",
    method: "POST",
    paths: &["/v1/infer"],
    streams: Streams::Never,
    output: Output::Result,
    read,
    error: nim,
    statuses: Statuses::FASTAPI,
    example: Example::json(r#"{"input":[{"type":"image_url","url":"data:image/png;base64,AA=="}]}"#),
};

#[derive(Deserialize)]
struct Body {
    input: Option<Vec<Image>>,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "type")]
    kind: String,
    url: String,
}

fn read(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let body: Body = ask.json()?;
    let images = body.input.filter(|images| !images.is_empty()).ok_or_else(|| ask.missing("input"))?;
    let refused =
        |message: &str| ApiError { status: Status(422), ..ApiError::bad_request(message.to_owned(), "input") };
    let mut bytes = 0;
    for image in &images {
        if image.kind != "image_url" {
            return Err(refused("input type must be 'image_url'"));
        }
        let data = image.url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
        let (_, data) = data.ok_or_else(|| refused("url must be a data URL of an image in base64"))?;
        bytes += data.len() / 4 * 3;
    }
    let noted = vec![("images", images.len().into())];
    let request = InferenceRequest { noted, ..InferenceRequest::default() };
    Ok((request, Box::new(Boxes { images: images.len(), bytes })))
}

struct Boxes {
    images: usize,
    bytes: usize,
}

impl Wording for Boxes {
    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        let data: Vec<Value> = (0..self.images)
            .map(|index| {
                let shade = (mixed(planned.number ^ (index as u64) << 32) % 100) as f64 / 400.0;
                let found = |kind: usize| {
                    json!([{
                        "x_min": shade, "y_min": 0.25 * kind as f64, "x_max": shade + 0.5,
                        "y_max": 0.25 * kind as f64 + 0.2, "confidence": 0.75 + shade,
                    }])
                };
                let boxes: serde_json::Map<String, Value> =
                    KINDS.iter().enumerate().map(|(kind, name)| ((*name).to_owned(), found(kind))).collect();
                json!({"index": index, "bounding_boxes": boxes})
            })
            .collect();
        let body = json!({"data": data, "usage": {"images_size_mb": self.bytes as f64 / 1e6}});
        WholeBody::json(body.to_string())
    }
}
