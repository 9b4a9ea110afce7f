/** What `proctor policy init` writes: reading is allowed, doing is asked for, the rest is denied. */
export const STARTER_POLICY = `# Which tool calls are allowed, asked for, or denied. Deny beats ask, ask beats allow; what no rule matches is denied.
version: 1
default: deny
approvals:
  expires_ms: 1800000           # half an hour
  approvers: [role:operator]
  self_approval: false          # who asked for a call may not let it pass
rules:
  - id: reading
    when: { risk: read_only }
    effect: allow
  - id: doing
    when: { risk: [write, execute_gated] }
    effect: { ask: { edit: true } }
  - id: after-strangers         # a tool that reads what anybody may write has answered before
    when: { run.tainted: true, risk: [write, execute_gated, privileged] }
    effect: { ask: { reason: "text from outside was read before" } }
limits:
  - { id: per-minute, per: [principal], calls: 120, window_ms: 60000 }
`;
