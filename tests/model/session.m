-- SPDX-License-Identifier: Apache-2.0
-- What each model has in common, before its own: one session of a client of ours, a leader and a follower behind it,
-- one request at a time, the rule of the proof, and time in half ticks. `check` puts session.m, the model and
-- session_rules.m together.

const
  T: 3;
  T_LESS: 2;
  WITH_BARRIER: 1;
  WITH_PROOF: 1;
  WITH_CAP: 1;
  WITH_HALF_TICK: 1;
  WITH_HANDLE_ASKED: 1;

type
  age_t: 0..T;
  which_t: 0..2;
  server_t: enum { LEADER, FOLLOWER };
  link_t: enum { DOWN, ATTACHED, HEARD, UP };
  kind_t: enum { NOTHING, BARRIER, CREATE, LIST, GET, PROOF, READ, DELETE };

var
  cut: boolean;
  alive: boolean;
  expires: age_t;
  reported: boolean;
  timeout: age_t;

  link: link_t;
  server: server_t;
  barrier: boolean;
  request: kind_t;
  which: which_t;
  sent: age_t;
  done: boolean;
  stray: kind_t;
  stray_of: which_t;
  stray_at: server_t;

  valid: age_t;
  heard: array [age_t] of age_t;

procedure session_begins();
begin
  clear cut;
  alive := true;
  expires := T;
  clear reported;
  timeout := T;
  link := UP;
  server := LEADER;
  clear barrier;
  request := NOTHING; clear which; clear sent; clear done;
  stray := NOTHING; clear stray_of; clear stray_at;
  clear valid; clear heard;
end;

procedure touch();
begin
  if server = LEADER then
    if alive then expires := timeout; endif;
  else
    reported := true;
  endif;
end;

-- src/proof/proof.c: proof_record
procedure answered();
begin
  if sent < heard[0] then heard[0] := sent; endif;
end;

-- src/proof/proof.c: uvzk__proof_answered
procedure committed();
var n: 0..(T + 1);
begin
  n := sent + WITH_HALF_TICK;
  if n <= T then
    if heard[n] < timeout & timeout - heard[n] > valid then
      valid := timeout - heard[n];
    endif;
  endif;
end;

-- src/engine/submission.c: uvzk__may_send
function may_send(): boolean;
begin
  return link = UP & request = NOTHING & (barrier | WITH_BARRIER = 0);
end;

procedure send(kind: kind_t);
begin
  request := kind;
  sent := 0;
end;

function is_write(): boolean;
begin
  return request = BARRIER | request = CREATE | request = PROOF | request = DELETE;
end;

procedure no_stray();
begin
  stray := NOTHING;
  stray_of := 0;
  stray_at := LEADER;
end;

procedure request_over();
begin
  request := NOTHING;
  which := 0;
  sent := 0;
  done := false;
end;

procedure session_over();
begin
  valid := 0;
  no_stray();
  for n: age_t do heard[n] := T; endfor;
  reported := false;
  timeout := T;
end;
