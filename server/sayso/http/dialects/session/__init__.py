"""The session dialect: an agent behind three plain requests (design 5).

    POST {path}         {"message", "session_id"?, "agent"?, "stream"?}     begins a turn
    POST {path}/resume  {"session_id", "answer", "interrupt_id"?, "stream"?}   answers a question
                        {"session_id", "status": "cancelled", …}            withdraws it
    GET  {path}?session_id=…                                                the session as it stands

Answers are event streams of these frames, one of the last three at the end; the session's id is in
`X-Session-Id`. A message whose id came before stands for the same message.

    {"type": "message", "message_id", "role", "content"}     a whole message
    {"type": "message", "message_id", "role", "delta"}       a piece of one, for those who ask
    {"type": "tool_call", "tool_call_id", "name", "args"}
    {"type": "tool_output", "tool_call_id", "name", "delta"}  of a running tool, likewise
    {"type": "tool_result", "tool_call_id", "content"}
    {"type": "interrupt", "interrupt_id", "reason", "prompt", "schema"?, "tool_call_id"?,
     "expires_at"?, "metadata"?, "remaining", "problem"?}    the first open question
    {"type": "error", "code"?, "message"}
    {"type": "done", "session_id", "result"?}

Errors are `{"detail", "code", "message", "errors"?}`. A session is a thread: what is opened here
can be answered in any other dialect, and the other way round.
"""
