//! The text of a request body: what a tokenizer counts as input.

use serde_json::{Map, Value, json};

/// What a body holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    pub texts: Vec<String>,
    /// Texts of tools and tool calls: not part of a chat template's rendering.
    pub tool_texts: Vec<String>,
    /// Chat messages, when the body has an array of them.
    pub messages: Option<Vec<Value>>,
    pub images: u32,
    pub audios: u32,
    pub videos: u32,
    /// Tokens given as ids.
    pub pretokenised: u64,
}

/// What the parts of a message are called.
struct PartTypes {
    text: &'static [&'static str],
    image: &'static str,
    audio: &'static str,
    video: &'static str,
}

const USUAL: PartTypes = PartTypes { text: &["text"], image: "image_url", audio: "input_audio", video: "video_url" };
const OF_RESPONSES: PartTypes =
    PartTypes { text: &["input_text", "output_text"], image: "input_image", audio: "input_audio", video: "" };
const OF_BLOCKS: PartTypes = PartTypes { text: &["text"], image: "image", audio: "", video: "" };

/// Of a body with messages, a prompt, an input, or a query with passages.
pub fn of_messages(body: &Map<String, Value>) -> Inputs {
    walk(&USUAL, body)
}

/// Of a body with items of the responses API, and instructions.
pub fn of_responses(body: &Map<String, Value>) -> Inputs {
    let mut out = walk(&OF_RESPONSES, body);
    let instructions = match body.get("instructions") {
        Some(Value::Array(parts)) => parts.iter().filter_map(text_of).filter(|text| !text.is_empty()).collect(),
        other => other.and_then(Value::as_str).into_iter().collect::<Vec<_>>(),
    };
    if let (Some(messages), false) = (&mut out.messages, instructions.is_empty()) {
        messages.insert(0, json!({"role": "system", "content": instructions.concat()}));
    }
    out.texts.splice(0..0, instructions.into_iter().map(str::to_owned));
    out
}

/// Of a body with messages in blocks, as Anthropic has them.
pub fn of_blocks(body: &Map<String, Value>) -> Inputs {
    let mut out = walk(&OF_BLOCKS, body);
    let system = match body.get("system") {
        Some(Value::Array(blocks)) => blocks.iter().filter_map(block_text).collect(),
        other => other.and_then(Value::as_str).into_iter().collect::<Vec<_>>(),
    };
    out.texts.splice(0..0, system.into_iter().filter(|text| !text.is_empty()).map(str::to_owned));
    for schema in
        list(body.get("tools")).filter_map(|tool| tool.get("input_schema")).filter(|schema| schema.is_object())
    {
        out.texts.push(schema.to_string());
    }
    for block in list(body.get("messages")).flat_map(|message| list(message.get("content"))) {
        match block.get("type").and_then(Value::as_str) {
            Some("tool_use") => {
                out.texts.extend(non_empty(block.get("name")).map(str::to_owned));
                out.texts.extend(block.get("input").filter(|input| input.is_object()).map(Value::to_string));
            }
            Some("tool_result") => {
                let content = block.get("content");
                let parts = list(content).filter(|part| part.is_object()).filter_map(block_text);
                let texts = content.and_then(Value::as_str).into_iter().chain(parts);
                out.texts.extend(texts.filter(|text| !text.is_empty()).map(str::to_owned));
            }
            _ => {}
        }
    }
    out
}

/// Of a body with a query, and what is ranked by it under any of its names.
pub fn of_query(body: &Map<String, Value>) -> Inputs {
    let mut out = walk(&USUAL, body);
    if out.messages.is_none() && out.texts.is_empty() && out.pretokenised == 0 {
        take_query(body, &mut out);
    }
    out
}

/// Of a body whose input is texts, images, or a text and an image in one.
pub fn of_texts_with_images(body: &Map<String, Value>) -> Inputs {
    let mut out = walk(&USUAL, body);
    let mut images = 0;
    if out.messages.is_none() {
        out.texts.retain_mut(|text| match image_at(text) {
            Some(start) => {
                images += 1;
                text.truncate(start);
                !text.is_empty()
            }
            None => true,
        });
    }
    out.images += images;
    out
}

/// Where the image begins that a text ends with, and the space before it.
fn image_at(text: &str) -> Option<usize> {
    const IMAGE: &str = "data:image/";
    let start = if text.starts_with(IMAGE) { 0 } else { text.rfind(&format!(" {IMAGE}"))? };
    // The data of an image has no spaces: what goes on after one is a text that speaks of images.
    let image = text[start..].trim_start_matches(' ');
    (!image.contains(char::is_whitespace)).then_some(start)
}

/// Of a body with nothing but images.
pub fn of_images(body: &Map<String, Value>) -> Inputs {
    let images = list(body.get("input")).filter(|item| item.get("type").and_then(Value::as_str) == Some("image_url"));
    Inputs { images: count(images), ..Inputs::default() }
}

/// Of a form with a prompt and the image to change, as files or by its address.
pub fn of_image_form(body: &Map<String, Value>) -> Inputs {
    let mut out = walk(&USUAL, body);
    out.images += files(body.get("image")) + u32::from(non_empty(body.get("url")).is_some());
    out
}

/// Of a form with a recording.
pub fn of_audio_form(body: &Map<String, Value>) -> Inputs {
    Inputs { audios: files(body.get("file")), ..Inputs::default() }
}

/// Files in a member of a form.
fn files(member: Option<&Value>) -> u32 {
    let is_file = |value: &&Value| value.get("b64_data").is_some();
    count(member.into_iter().filter(is_file)) + count(list(member).filter(is_file))
}

fn count<'a>(values: impl Iterator<Item = &'a Value>) -> u32 {
    u32::try_from(values.count()).unwrap_or(u32::MAX)
}

fn walk(types: &PartTypes, body: &Map<String, Value>) -> Inputs {
    let mut out = Inputs::default();
    for key in ["messages", "input"] {
        if let Some(items) = body.get(key).and_then(Value::as_array).filter(|items| is_item_list(items)) {
            let mut messages = out.messages.take().unwrap_or_default();
            for item in items.iter().filter_map(Value::as_object) {
                take_item(item, types, &mut out, &mut messages);
            }
            out.messages = Some(messages);
        }
    }
    for tool in list(body.get("tools")) {
        for source in [tool.get("function"), Some(tool)].into_iter().flatten().filter_map(Value::as_object) {
            take_tool(source, &mut out);
        }
    }
    if out.messages.is_none() {
        take_plain(body, &mut out);
    }
    out
}

fn is_item_list(items: &[Value]) -> bool {
    items.iter().any(|item| item.get("role").is_some() || item.get("type").is_some())
}

fn take_item(item: &Map<String, Value>, types: &PartTypes, out: &mut Inputs, messages: &mut Vec<Value>) {
    let role = item.get("role").and_then(Value::as_str);
    let mut texts = Vec::new();
    match item.get("content") {
        Some(Value::String(text)) => texts.push(text.clone()),
        Some(Value::Array(parts)) => {
            for part in parts {
                let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
                if types.text.contains(&kind) {
                    texts.extend(part.get("text").and_then(Value::as_str).map(str::to_owned));
                } else if !kind.is_empty() {
                    out.images += u32::from(kind == types.image);
                    out.audios += u32::from(kind == types.audio);
                    out.videos += u32::from(kind == types.video);
                }
            }
        }
        _ => {}
    }
    out.texts.extend(texts.iter().cloned());
    for function in list(item.get("tool_calls")).filter_map(|call| call.get("function")) {
        for key in ["name", "arguments"] {
            if let Some(text) = non_empty(function.get(key)) {
                out.texts.push(text.to_owned());
                if role.is_none() {
                    out.tool_texts.push(text.to_owned());
                }
            }
        }
    }
    let keys: &[&str] = match item.get("type").and_then(Value::as_str) {
        Some("function_call") => &["name", "arguments"],
        Some("function_call_output") => &["output"],
        _ => &[],
    };
    for text in keys.iter().filter_map(|key| non_empty(item.get(*key))) {
        out.texts.push(text.to_owned());
        out.tool_texts.push(text.to_owned());
    }
    if let Some(role) = role {
        let mut message = json!({"role": role, "content": texts.concat()});
        let calls = item.get("tool_calls").filter(|calls| list(Some(calls)).next().is_some());
        if let (Some(calls), Value::Object(members)) = (calls, &mut message) {
            members.insert("tool_calls".into(), calls.clone());
        }
        messages.push(message);
    }
}

fn take_tool(tool: &Map<String, Value>, out: &mut Inputs) {
    let mut add = |text: String| {
        out.texts.push(text.clone());
        out.tool_texts.push(text);
    };
    for key in ["name", "description"] {
        if let Some(text) = non_empty(tool.get(key)) {
            add(text.to_owned());
        }
    }
    if let Some(parameters @ Value::Object(_)) = tool.get("parameters") {
        add(parameters.to_string());
    }
}

fn take_plain(body: &Map<String, Value>, out: &mut Inputs) {
    for key in ["prompt", "input"] {
        match body.get(key) {
            Some(Value::String(text)) => return out.texts.push(text.clone()),
            Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
                return out.texts.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            Some(Value::Array(items)) if items.iter().all(Value::is_i64) => {
                out.pretokenised = items.len() as u64;
                return;
            }
            Some(Value::Array(items))
                if items.iter().all(|item| item.as_array().is_some_and(|ids| ids.iter().all(Value::is_i64))) =>
            {
                out.pretokenised = items.iter().filter_map(Value::as_array).map(|ids| ids.len() as u64).sum();
                return;
            }
            _ => {}
        }
    }
    let is_ranked = RANKED.iter().any(|member| body.get(*member).is_some_and(Value::is_array));
    if is_ranked && body.get("query").is_some_and(|query| text_of(query).is_some()) {
        return take_query(body, out);
    }
    out.texts.extend(body.get("inputs").and_then(Value::as_str).map(str::to_owned));
}

/// What is put in order by a query, under each of its names.
const RANKED: [&str; 3] = ["passages", "documents", "texts"];

fn take_query(body: &Map<String, Value>, out: &mut Inputs) {
    let query = body.get("query");
    let texts = query.and_then(text_of).into_iter().chain(list(query).filter_map(text_of));
    let ranked = RANKED.iter().flat_map(|member| list(body.get(*member))).filter_map(text_of);
    out.texts.extend(texts.chain(ranked).map(str::to_owned));
}

/// A text, or an object with one.
fn text_of(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("text")?.as_str())
}

/// A text, or a block that is one.
fn block_text(block: &Value) -> Option<&str> {
    let is_text = block.get("type").and_then(Value::as_str) == Some("text");
    block.as_str().or_else(|| if is_text { block.get("text")?.as_str() } else { None })
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn non_empty(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(function: fn(&Map<String, Value>) -> Inputs, body: Value) -> Inputs {
        function(body.as_object().unwrap())
    }

    #[test]
    fn queries_and_what_is_ranked_by_them_are_input_in_every_shape() {
        for body in [
            json!({"query": "q", "documents": ["a", {"text": "b"}]}),
            json!({"query": "q", "texts": ["a", "b"]}),
            json!({"query": {"text": "q"}, "passages": [{"text": "a"}, {"text": "b"}]}),
        ] {
            assert_eq!(of(of_query, body.clone()).texts, ["q", "a", "b"], "{body}");
            assert_eq!(of(of_messages, body.clone()).texts, ["q", "a", "b"], "{body}");
        }
        assert_eq!(of(of_query, json!({"query": ["q", "r"], "filters": {}})).texts, ["q", "r"]);
        assert_eq!(of(of_messages, json!({"query": "q"})), Inputs::default());
    }

    #[test]
    fn images_within_texts_are_counted_and_not_read() {
        let input =
            json!({"input": ["data:image/png;base64,AA", "a b data:image/png;base64,BB", "c", "d data:image/ e"]});
        let inputs = of(of_texts_with_images, input);
        assert_eq!((inputs.images, inputs.texts), (2, ["a b", "c", "d data:image/ e"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn files_of_forms_are_counted() {
        let file = json!({"b64_data": "AA", "filename": "a"});
        assert_eq!(of(of_image_form, json!({"prompt": "p", "image": file.clone()})).images, 1);
        assert_eq!(of(of_image_form, json!({"prompt": "p", "image": [file.clone(), file.clone()]})).images, 2);
        assert_eq!(of(of_image_form, json!({"prompt": "p", "url": "http://host/a.png"})).images, 1);
        assert_eq!(of(of_audio_form, json!({"file": file, "prompt": "p"})), Inputs { audios: 1, ..Inputs::default() });
    }

    #[test]
    fn instructions_come_before_messages() {
        let inputs = of(of_responses, json!({"instructions": ["a", {"text": "b"}], "input": [{"role": "user"}]}));
        assert_eq!(inputs.texts, ["a", "b"]);
        assert_eq!(inputs.messages.unwrap()[0], json!({"role": "system", "content": "ab"}));
    }

    #[test]
    fn tools_and_their_results_are_input_in_blocks() {
        let used = json!([{"type": "tool_use", "name": "f", "input": {}}, {"type": "tool_result", "content": "r"}]);
        let body =
            json!({"system": "s", "messages": [{"role": "user", "content": used}], "tools": [{"input_schema": {}}]});
        assert_eq!(of(of_blocks, body).texts, ["s", "{}", "f", "{}", "r"]);
    }
}
