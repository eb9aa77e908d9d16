//! Drives an agent host with the published client: one session, one turn, its permission approved or denied.
//! Prints one JSON object: what the reducers of the client made of the actions, and what the host says at the end.
use ahp::reducers::apply_action_to_chat;
use ahp::{Client, ClientConfig, SubscriptionEvent};
use ahp_types::actions::*;
use ahp_types::commands::*;
use ahp_types::state::*;
use serde_json::json;
use std::time::Duration;

type Failure = Box<dyn std::error::Error>;

fn message(text: &str) -> Message {
    serde_json::from_value(json!({"text": text, "origin": {"kind": "user"}})).unwrap()
}

async fn connect(url: &str) -> Result<Client, Failure> {
    let transport = ahp_ws::WebSocketTransport::connect(url).await?;
    Ok(Client::connect(transport, ClientConfig::default()).await?)
}

async fn chat_of(client: &Client, chat: &str) -> Result<ChatState, Failure> {
    let (result, _) = client.subscribe(chat.to_string()).await?;
    match result.snapshot.ok_or("no snapshot")?.state {
        SnapshotState::Chat(state) => Ok(*state),
        other => Err(format!("not a chat: {other:?}").into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut given = std::env::args().skip(1);
    let url = given.next().ok_or("URL")?;
    let folder = given.next().ok_or("FOLDER")?;
    let prompt = given.next().ok_or("PROMPT")?;
    let approve = given.next().as_deref() != Some("deny");
    let root = ahp_types::ROOT_RESOURCE_URI.to_string();
    let client = connect(&url).await?;
    let versions = vec![ahp_types::PROTOCOL_VERSION.to_string()];
    let init = client.initialize("rust-peer".into(), versions.clone(), vec![root.clone()]).await?;
    let agents = match &init.snapshots[0].state {
        SnapshotState::Root(state) => state.agents.iter().map(|one| one.provider.clone()).collect::<Vec<_>>(),
        other => return Err(format!("not a root: {other:?}").into()),
    };
    let session = "fake:/rust-1".to_string();
    let created: serde_json::Value = client
        .request("createSession", json!({"channel": session, "workingDirectories": [folder]}))
        .await?;
    let (subscribed, _session_events) = client.subscribe(session.clone()).await?;
    let chat = match subscribed.snapshot.ok_or("no snapshot")?.state {
        SnapshotState::Session(state) => state.default_chat.ok_or("no chat")?,
        other => return Err(format!("not a session: {other:?}").into()),
    };
    let (subscribed, mut events) = client.subscribe(chat.clone()).await?;
    let mut state = match subscribed.snapshot.ok_or("no snapshot")?.state {
        SnapshotState::Chat(state) => *state,
        other => return Err(format!("not a chat: {other:?}").into()),
    };
    client
        .dispatch(
            chat.clone(),
            StateAction::ChatTurnStarted(ChatTurnStartedAction {
                turn_id: "turn-of-rust".into(),
                started_at: "2026-11-18T00:00:00.000Z".into(),
                message: message(&prompt),
                queued_message_id: None,
                meta: None,
            }),
        )
        .await?;
    let mut kinds = Vec::new();
    let mut outcomes = Vec::new();
    loop {
        let event = tokio::time::timeout(Duration::from_secs(60), events.recv()).await?.ok_or("closed")?;
        let SubscriptionEvent::Action(envelope) = event else { continue };
        if envelope.rejection_reason.is_some() {
            return Err(format!("rejected: {:?}", envelope.rejection_reason).into());
        }
        let outcome = apply_action_to_chat(&mut state, &envelope.action);
        let kind = serde_json::to_value(&envelope.action)?["type"].as_str().unwrap_or("?").to_string();
        outcomes.push(format!("{kind} {outcome:?}"));
        kinds.push(kind);
        match &envelope.action {
            StateAction::ChatToolCallReady(ready) if ready.confirmed.is_none() => {
                client
                    .dispatch(
                        chat.clone(),
                        StateAction::ChatToolCallConfirmed(ChatToolCallConfirmedAction {
                            turn_id: ready.turn_id.clone(),
                            tool_call_id: ready.tool_call_id.clone(),
                            meta: None,
                            approved: approve,
                            confirmed: Some(ToolCallConfirmationReason::UserAction),
                            reason: if approve { None } else { Some(ToolCallCancellationReason::Denied) },
                            edited_tool_input: None,
                            user_suggestion: None,
                            reason_message: None,
                            selected_option_id: None,
                        }),
                    )
                    .await?;
            }
            StateAction::ChatTurnComplete(_) | StateAction::ChatTurnCancelled(_) | StateAction::ChatError(_) => break,
            _ => {}
        }
    }
    let told = chat_of(&client, &chat).await?;
    client.shutdown().await;
    // A second connection that has missed everything since the beginning.
    let again = connect(&url).await?;
    let result = again
        .reconnect("rust-peer".into(), init.server_seq, vec![root.clone(), chat.clone()])
        .await?;
    let replayed = match &result {
        ReconnectResult::Replay(replay) => replay.actions.len() as i64,
        ReconnectResult::Snapshot(_) => -1,
    };
    again.shutdown().await;
    let same = serde_json::to_value(&state.turns)? == serde_json::to_value(&told.turns)?;
    println!(
        "{}",
        json!({"agents": agents, "created": created, "actions": kinds, "outcomes": outcomes, "reduced": state.turns,
               "told": told.turns, "same": same, "replayed": replayed, "version": init.protocol_version})
    );
    Ok(())
}
