-- SPDX-License-Identifier: Apache-2.0
-- What each model has in common, after its own: connections, the end of a session, and time. A model has
-- `forget`, `request_lost`, `end_session`, `needs_session`, and a rule that applies the follower's next transaction.

procedure lost();
begin
  if (request = CREATE | request = DELETE) & !done then
    stray := request;
    stray_of := which;
    stray_at := server;
  endif;
  request_lost();
  forget();
  link := DOWN;
  server := LEADER;
  barrier := false;
end;

-- src/engine/barrier.c: uvzk__barrier_ask
rule "send barrier" link = UP & request = NOTHING & !barrier & WITH_BARRIER = 1 ==> begin send(BARRIER); end;

-- src/client/lifecycle.c: lifecycle_suspended
rule "connection lost" link != DOWN ==> begin lost(); end;

ruleset at: server_t do
rule "attach"
  link = DOWN & needs_session() & alive & (at = LEADER | !cut)
==> begin
  link := ATTACHED;
  server := at;
  expires := timeout;
  if stray_at != at then no_stray(); endif;
end;

-- src/proof/proof.c: uvzk__proof_connected
rule "attach, T shrinks"
  link = DOWN & needs_session() & alive & (at = LEADER | !cut) & timeout = T
==> begin
  link := UP;
  server := at;
  timeout := T_LESS;
  expires := T_LESS;
  for n: age_t do
    if heard[n] >= timeout then heard[n] := T; endif;
  endfor;
  if WITH_CAP = 1 & valid > T_LESS then valid := T_LESS; endif;
  if stray_at != at then no_stray(); endif;
end;
endruleset;

rule "handle hears" link = ATTACHED ==> begin link := HEARD; end;
-- src/client/lifecycle.c: lifecycle_connected
rule "loop hears" link = HEARD ==> begin link := UP; end;

-- loop/session/handle.c: uvzk__handle_leave
rule "handle replaced"
  link = HEARD & WITH_HANDLE_ASKED = 0 & (server = LEADER | !cut)
==> begin
  end_session();
  lost();
end;

rule "tick" true ==> begin
  if expires > 0 then expires := expires - 1; endif;
  if reported & !cut then
    if alive then expires := timeout; endif;
    reported := false;
  endif;
  if valid > 0 & !(WITH_PROOF = 0 & link = UP) then valid := valid - 1; endif;
  if request != NOTHING & sent < T then sent := sent + 1; endif;
  for n := T to 1 by -1 do
    if heard[n - 1] < T then heard[n] := heard[n - 1] + 1; else heard[n] := T; endif;
  endfor;
  if heard[0] < T then heard[0] := heard[0] + 1; endif;
  for n: age_t do
    if heard[n] >= timeout then heard[n] := T; endif;
  endfor;
end;

rule "connected is owned" WITH_PROOF = 0 & link = UP & valid < timeout ==> begin valid := timeout; end;

rule "follower is cut off" !cut ==> begin cut := true; end;
rule "follower is back" cut ==> begin
  cut := false;
  reported := false;
  if server = FOLLOWER & link != DOWN then lost(); endif;
end;

rule "session expires" alive & expires = 0 ==> begin end_session(); end;
