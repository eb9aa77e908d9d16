//! One turn with a permission through a remote chain: `http-peer URL TOKEN FOLDER PROMPT`.
use agent_client_protocol::Agent;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, InitializeRequest, NewSessionRequest, PermissionOptionKind, PromptRequest, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, SessionNotification, TextContent,
};
use agent_client_protocol_http::HttpClient;
use std::path::PathBuf;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let (url, token, folder, prompt) = (given[0].clone(), given[1].clone(), given[2].clone(), given[3].clone());
    let mut headers = reqwest::header::HeaderMap::new();
    headers.insert("authorization", format!("Bearer {token}").parse()?);
    let client = HttpClient::builder_with_endpoint(&url)
        .configure_http(|http| http.no_proxy().default_headers(headers))
        .build()?;
    agent_client_protocol::Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _cx| {
                println!("{:?}", notification.update);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _connection| {
                let id = request.options.iter().find(|one| one.kind == PermissionOptionKind::AllowOnce);
                match id {
                    Some(one) => responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Selected(
                        SelectedPermissionOutcome::new(one.option_id.clone()),
                    ))),
                    None => responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled)),
                }
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(client, |connection: ConnectionTo<Agent>| async move {
            let init = connection.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
            println!("initialized {:?}", init.agent_info.map(|one| one.name));
            let session = connection.send_request(NewSessionRequest::new(PathBuf::from(folder))).block_task().await?;
            let done = connection
                .send_request(PromptRequest::new(session.session_id, vec![ContentBlock::Text(TextContent::new(prompt))]))
                .block_task()
                .await?;
            println!("stopped {:?}", done.stop_reason);
            Ok(())
        })
        .await?;
    Ok(())
}
