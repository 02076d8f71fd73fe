//! CloudFormation's intrinsic functions, as far as tables and queues need them: short and long
//! forms become one shape, and `Ref`, `Fn::Sub`, `Fn::GetAtt` and `Fn::Join` become values.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use serde_norway::Value as Yaml;

/// The account that local ARNs name.
const ACCOUNT: &str = "000000000000";
/// The Region that local ARNs name.
const REGION: &str = "us-east-1";
/// The name that the local stack goes by.
pub(super) const STACK: &str = "local";

/// A value that cannot be had without a deployment, and where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unresolved {
    /// Where below the value that was asked for, such as `.KeySchema[0]`; empty for itself.
    pub(super) path: String,
    /// Why it has no value here.
    pub(super) reason: String,
}

impl Unresolved {
    fn new(reason: String) -> Self {
        Self { path: String::new(), reason }
    }

    fn under(mut self, step: &str) -> Self {
        self.path.insert_str(0, step);
        self
    }
}

/// What names in a template stand for.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Parameters, with their default when they have one.
    pub(super) parameters: BTreeMap<String, Option<Value>>,
    /// The tables' names by logical id.
    pub(super) tables: BTreeMap<String, String>,
    /// The queues' names by logical id.
    pub(super) queues: BTreeMap<String, String>,
}

/// Turns YAML into JSON in which a tag such as `!Sub x` is written in its long form,
/// `{"Fn::Sub": x}`.
///
/// # Errors
/// Says which key of a mapping is not text.
pub(super) fn canonical(value: Yaml) -> Result<Value, String> {
    Ok(match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(flag) => Value::Bool(flag),
        Yaml::String(text) => Value::String(text),
        Yaml::Number(number) => serde_json::to_value(number).map_err(|error| error.to_string())?,
        Yaml::Sequence(items) => {
            Value::Array(items.into_iter().map(canonical).collect::<Result<_, _>>()?)
        }
        Yaml::Mapping(entries) => {
            let mut object = Map::new();
            for (key, value) in entries {
                let Yaml::String(key) = key else {
                    return Err(format!("a mapping's key is not text: {key:?}"));
                };
                object.insert(key, canonical(value)?);
            }
            Value::Object(object)
        }
        Yaml::Tagged(tagged) => long_form(&tagged.tag.to_string(), canonical(tagged.value)?),
    })
}

fn long_form(tag: &str, value: Value) -> Value {
    let (key, value) = match (tag.trim_start_matches('!'), value) {
        (name @ ("Ref" | "Condition"), value) => (name.to_owned(), value),
        ("GetAtt", Value::String(target)) => {
            let (id, attribute) = target.split_once('.').unwrap_or((&target, ""));
            ("Fn::GetAtt".to_owned(), Value::from(vec![id, attribute]))
        }
        (name, value) => (format!("Fn::{name}"), value),
    };
    Value::Object(Map::from_iter([(key, value)]))
}

impl Scope {
    /// Replaces every intrinsic function in `value` by what it stands for.
    ///
    /// # Errors
    /// A function or a name has no value in the local run.
    pub(super) fn resolve(&self, value: &Value) -> Result<Value, Unresolved> {
        match value {
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| {
                    self.resolve(item).map_err(|error| error.under(&format!("[{index}]")))
                })
                .collect::<Result<_, _>>()
                .map(Value::Array),
            Value::Object(entries) => match only_entry(entries) {
                Some((name, argument)) if name == "Ref" || name.starts_with("Fn::") => {
                    self.call(name, argument)
                }
                _ => entries
                    .iter()
                    .map(|(key, item)| {
                        let item =
                            self.resolve(item).map_err(|error| error.under(&format!(".{key}")))?;
                        Ok((key.clone(), item))
                    })
                    .collect::<Result<_, _>>()
                    .map(Value::Object),
            },
            plain => Ok(plain.clone()),
        }
    }

    fn call(&self, name: &str, argument: &Value) -> Result<Value, Unresolved> {
        match (name, argument) {
            ("Ref", Value::String(id)) => self.reference(id),
            ("Fn::Sub", Value::String(pattern)) => self.substitute(pattern, &Map::new()),
            ("Fn::Sub", Value::Array(items)) => match items.as_slice() {
                [Value::String(pattern), Value::Object(variables)] => {
                    self.substitute(pattern, variables)
                }
                _ => Err(malformed(name)),
            },
            ("Fn::GetAtt", Value::Array(items)) => match items.as_slice() {
                [Value::String(id), Value::String(attribute)] => self.attribute(id, attribute),
                _ => Err(malformed(name)),
            },
            ("Fn::GetAtt", Value::String(target)) => match target.split_once('.') {
                Some((id, attribute)) => self.attribute(id, attribute),
                None => Err(malformed(name)),
            },
            ("Fn::Join", Value::Array(items)) => match items.as_slice() {
                [Value::String(separator), Value::Array(parts)] => {
                    let parts: Vec<String> =
                        parts.iter().map(|part| self.text(part)).collect::<Result<_, _>>()?;
                    Ok(Value::String(parts.join(separator)))
                }
                _ => Err(malformed(name)),
            },
            ("Ref" | "Fn::Sub" | "Fn::GetAtt" | "Fn::Join", _) => Err(malformed(name)),
            _ => Err(Unresolved::new(format!("{name} is not known to the local run"))),
        }
    }

    fn reference(&self, id: &str) -> Result<Value, Unresolved> {
        let pseudo = match id {
            "AWS::StackName" => Some(STACK),
            "AWS::Region" => Some(REGION),
            "AWS::AccountId" => Some(ACCOUNT),
            "AWS::Partition" => Some("aws"),
            "AWS::URLSuffix" => Some("amazonaws.com"),
            _ => self.tables.get(id).map(String::as_str),
        };
        if let Some(value) = pseudo {
            return Ok(Value::from(value));
        }
        match self.parameters.get(id) {
            Some(Some(default)) => Ok(default.clone()),
            Some(None) => Err(Unresolved::new(format!("the parameter {id} has no default"))),
            None => Err(Unresolved::new(format!("a Ref of {id} has no value in the local run"))),
        }
    }

    fn attribute(&self, id: &str, attribute: &str) -> Result<Value, Unresolved> {
        let value = match (self.queues.get(id), self.tables.get(id), attribute) {
            (Some(name), _, "Arn") => format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"),
            (Some(name), _, "QueueName") => name.clone(),
            (_, Some(name), "Arn") => format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"),
            _ => {
                let reason = format!("a GetAtt of {id}.{attribute} has no value in the local run");
                return Err(Unresolved::new(reason));
            }
        };
        Ok(Value::String(value))
    }

    /// Expands `${Name}`, `${Name.Attribute}` and the escape `${!Literal}`.
    fn substitute(&self, pattern: &str, own: &Map<String, Value>) -> Result<Value, Unresolved> {
        let mut text = String::new();
        let mut rest = pattern;
        while let Some((before, after)) = rest.split_once("${") {
            text.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                return Err(Unresolved::new(format!("no closing brace in {pattern:?}")));
            };
            if let Some(literal) = name.strip_prefix('!') {
                text.extend(["${", literal, "}"]);
            } else if let Some(value) = own.get(name) {
                text.push_str(&self.text(value)?);
            } else if let Some((id, attribute)) = name.split_once('.') {
                text.push_str(&plain(&self.attribute(id, attribute)?)?);
            } else {
                text.push_str(&plain(&self.reference(name)?)?);
            }
            rest = after;
        }
        text.push_str(rest);
        Ok(Value::String(text))
    }

    fn text(&self, value: &Value) -> Result<String, Unresolved> {
        plain(&self.resolve(value)?)
    }
}

fn only_entry(entries: &Map<String, Value>) -> Option<(&String, &Value)> {
    entries.iter().next().filter(|_| entries.len() == 1)
}

fn plain(value: &Value) -> Result<String, Unresolved> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(Unresolved::new("a list or an object stands where text is needed".to_owned()))
        }
    }
}

fn malformed(name: &str) -> Unresolved {
    Unresolved::new(format!("{name} does not have the arguments it needs"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolve(yaml: &str) -> Result<Value, Unresolved> {
        let scope = Scope {
            parameters: BTreeMap::from([
                ("Days".to_owned(), Some(json!(30))),
                ("Secret".to_owned(), None),
            ]),
            tables: BTreeMap::from([("Inbox".to_owned(), "local-Inbox".to_owned())]),
            queues: BTreeMap::from([("Events".to_owned(), "local-events.fifo".to_owned())]),
        };
        scope.resolve(&canonical(serde_norway::from_str(yaml).unwrap()).unwrap())
    }

    #[test]
    fn short_and_long_forms_have_the_same_value() {
        let arn = json!("arn:aws:sqs:us-east-1:000000000000:local-events.fifo");
        for (yaml, value) in [
            ("!Ref Days", json!(30)),
            ("Ref: Days", json!(30)),
            ("!Ref Inbox", json!("local-Inbox")),
            ("!GetAtt Events.Arn", arn.clone()),
            ("Fn::GetAtt: [Events, Arn]", arn.clone()),
            ("Fn::GetAtt: Events.Arn", arn.clone()),
            ("!Sub '${Events.Arn}'", arn),
            ("!Sub '${AWS::StackName}-${Days}-${!x}'", json!("local-30-${x}")),
            ("Fn::Sub: ['${a}/${AWS::Region}', {a: !Ref Days}]", json!("30/us-east-1")),
            ("!Join ['-', [a, !Ref Days]]", json!("a-30")),
            ("{a: [1, true], b: !Ref Days}", json!({"a": [1, true], "b": 30})),
        ] {
            assert_eq!(resolve(yaml), Ok(value), "{yaml}");
        }
    }

    #[test]
    fn what_has_no_value_is_named_with_its_place() {
        for (yaml, path, reason) in [
            ("{a: [x, !If [c, 1, 2]]}", ".a[1]", "Fn::If is not known to the local run"),
            ("!Ref Secret", "", "the parameter Secret has no default"),
            ("!Ref Events", "", "a Ref of Events has no value in the local run"),
            ("!Sub '${Nothing}'", "", "a Ref of Nothing has no value in the local run"),
            ("!Sub '${Days'", "", "no closing brace in \"${Days\""),
            (
                "!GetAtt Inbox.StreamArn",
                "",
                "a GetAtt of Inbox.StreamArn has no value in the local run",
            ),
            ("!Sub [x]", "", "Fn::Sub does not have the arguments it needs"),
        ] {
            let error = resolve(yaml).unwrap_err();
            assert_eq!((error.path.as_str(), error.reason.as_str()), (path, reason), "{yaml}");
        }
    }
}
