//! The members of a body, encoded once for all requests that have the same ones.

use super::DialectError;
use super::frame::Frame;
use bytes::Bytes;
use std::sync::{Arc, RwLock};

/// The members of a body and their encoding, around the items.
pub(super) struct EncodedFrame {
    pub(super) frame: Frame,
    pub(super) before: Vec<Bytes>,
    pub(super) after: Vec<Bytes>,
}

impl EncodedFrame {
    pub(super) fn new(frame: Frame) -> Result<Self, DialectError> {
        let (before, after) = frame.encode()?;
        Ok(Self { frame, before, after })
    }
}

/// The settings of a turn that its frame depends on, if the frame is steady.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct FrameSettings<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) max_tokens: Option<u32>,
    pub(super) tools: Option<&'a Bytes>,
}

/// A frame, and the settings in it.
pub(super) struct SteadyFrame {
    model: Option<String>,
    max_tokens: Option<u32>,
    tools: Option<Bytes>,
    frame: Arc<EncodedFrame>,
}

impl SteadyFrame {
    pub(super) fn new(settings: FrameSettings<'_>, frame: Arc<EncodedFrame>) -> Self {
        let FrameSettings { model, max_tokens, tools } = settings;
        Self { model: model.map(str::to_owned), max_tokens, tools: tools.cloned(), frame }
    }

    /// Whether it is the frame of these settings.
    pub(super) fn has(&self, settings: FrameSettings<'_>) -> bool {
        let Self { model, max_tokens, tools, .. } = self;
        settings == FrameSettings { model: model.as_deref(), max_tokens: *max_tokens, tools: tools.as_ref() }
    }

    pub(super) fn frame(&self) -> &Arc<EncodedFrame> {
        &self.frame
    }
}

/// The last steady frame of an endpoint, which most sessions share. No thread waits for it.
#[derive(Default)]
pub(crate) struct LastFrame(RwLock<Option<Arc<SteadyFrame>>>);

impl LastFrame {
    pub(super) fn of(&self, settings: FrameSettings<'_>) -> Option<Arc<SteadyFrame>> {
        self.0.try_read().ok()?.as_ref().filter(|last| last.has(settings)).cloned()
    }

    pub(super) fn set(&self, frame: Arc<SteadyFrame>) {
        if let Ok(mut last) = self.0.try_write() {
            *last = Some(frame);
        }
    }
}
