-- SPDX-License-Identifier: Apache-2.0
-- A mutex: one client of ours in full, and other contenders as early as they can be, between session.m and
-- session_rules.m. README.md says what is modelled and what is not.
-- "-- src/...: f" above a rule is what of the library it stands for; `check` looks whether it is there.
-- `check` sets one WITH_ to 0 in a copy for each mutation.

const
  OURS: 2;
  OTHERS: 1;
  ZXIDS: 6;

type
  zxid_t: 0..ZXIDS;
  node_t: 0..(OURS + OTHERS);
  contender_t: enum { IDLE, CREATING, UNKNOWN, STANDING, DELETING, GONE };
  told_t: enum { NONE, WAITS, HOLDS, ENDED };
  before_t: enum { NOT_KNOWN, ONE, SEVERAL, NOBODY };

var
  zxid: zxid_t;
  applied: zxid_t;
  made: array [node_t] of zxid_t;
  gone: array [node_t] of zxid_t;
  found: node_t;
  how: before_t;
  contender: contender_t;
  mine: node_t;
  before: before_t;
  predecessor: node_t;
  told: told_t;
  token: zxid_t;

function stands(node: node_t; view: zxid_t): boolean;
begin
  return node != 0 & made[node] != 0 & made[node] <= view & (gone[node] = 0 | gone[node] > view);
end;

function is_ours(node: node_t): boolean;
begin
  return node >= 1 & node <= OURS;
end;

function view(): zxid_t;
begin
  if server = LEADER then return zxid; else return applied; endif;
end;

function first(): node_t;
var least: node_t;
begin
  least := 0;
  for node: node_t do
    if stands(node, zxid) & (least = 0 | made[node] < made[least]) then
      least := node;
    endif;
  endfor;
  return least;
end;

procedure others_grant();
var leader: node_t;
begin
  leader := first();
  if leader != 0 & !is_ours(leader) then
    assert made[leader] >= token "tokens rise";
    token := made[leader];
  endif;
end;

procedure remove(node: node_t);
begin
  if stands(node, zxid) then
    zxid := zxid + 1;
    gone[node] := zxid;
    others_grant();
  endif;
end;

procedure end_session();
var any: boolean;
begin
  alive := false;
  expires := 0;
  any := false;
  for node: node_t do
    if is_ours(node) & stands(node, zxid) then
      gone[node] := zxid + 1;
      any := true;
    endif;
  endfor;
  if any then
    zxid := zxid + 1;
    others_grant();
  endif;
end;

function unmade(): node_t;
begin
  for node: node_t do
    if is_ours(node) & made[node] = 0 then return node; endif;
  endfor;
  return 0;
end;

function commit(kind: kind_t; at: server_t): node_t;
var node: node_t;
begin
  node := 0;
  if kind = CREATE then
    node := unmade();
    if node != 0 then
      zxid := zxid + 1;
      made[node] := zxid;
      others_grant();
    endif;
  elsif kind = DELETE then
    remove(mine);
  endif;
  if at = FOLLOWER then applied := zxid; endif;
  return node;
end;

-- src/directory/settle/listing.c: list_replied
procedure look();
var least: zxid_t;
begin
  found := 0;
  if contender = UNKNOWN then
    for node: node_t do
      if is_ours(node) & stands(node, view()) then found := node; endif;
    endfor;
  else
    how := NOBODY;
    for node: node_t do
      if stands(node, view()) & made[node] < made[mine] then
        if how = NOBODY then how := ONE; else how := SEVERAL; endif;
        if found = 0 then found := node;
        elsif made[node] > made[found] then found := node; endif;
      endif;
    endfor;
  endif;
end;

procedure forget();
begin
  request_over();
  found := 0;
  how := NOT_KNOWN;
end;

procedure request_lost();
begin
  if request = CREATE then contender := UNKNOWN; endif;
end;

function needs_session(): boolean;
begin
  return contender != GONE;
end;

-- src/directory/node.c: uvzk__node_unwanted
procedure unwanted();
begin
  told := ENDED;
  if contender = CREATING & request != CREATE then
    contender := GONE;
  elsif contender = STANDING then
    contender := DELETING;
    before := NOT_KNOWN;
    predecessor := 0;
  endif;
end;

procedure node_gone();
begin
  contender := GONE;
  mine := 0;
  before := NOT_KNOWN;
  predecessor := 0;
end;

startstate begin
  session_begins();
  clear zxid; clear applied; clear made; clear gone;
  clear found; how := NOT_KNOWN;
  contender := IDLE; clear mine; before := NOT_KNOWN; clear predecessor;
  told := NONE; clear token;
end;

-- src/claim/acquire.c: uvzk_lock_acquire
rule "acquire" contender = IDLE ==> begin contender := CREATING; told := WAITS; end;
-- src/directory/contender.c: uvzk__contender_withdraw
rule "give up" told = WAITS ==> begin unwanted(); end;
-- src/directory/contender.c: uvzk__contender_withdraw
rule "release" told = HOLDS ==> begin unwanted(); end;
rule "again" contender = GONE & told = ENDED & alive & unmade() != 0 ==>
begin contender := IDLE; told := NONE; end;

-- src/directory/settle/in_order.c: check_grant
rule "grant"
  contender = STANDING & told = WAITS & before = NOBODY & valid > 0
==> begin
  told := HOLDS;
  assert made[mine] > token "tokens rise";
  token := made[mine];
end;

-- src/proof/prover.c: uvzk__prover_check
rule "lose by time" told = HOLDS & valid = 0 ==> begin unwanted(); end;

-- src/directory/contender_request.c: uvzk__contender_create
rule "send create" may_send() & contender = CREATING & unmade() != 0 ==> begin send(CREATE); end;
-- src/directory/settle/listing.c: uvzk__listing_start
rule "send search" may_send() & contender = UNKNOWN ==> begin send(LIST); end;
-- src/directory/settle/listing.c: uvzk__listing_start
rule "send listing" may_send() & contender = STANDING & before = NOT_KNOWN ==> begin send(LIST); end;
-- src/directory/predecessor.c: uvzk__predecessor_watch
rule "send get" may_send() & contender = STANDING & (before = ONE | before = SEVERAL) ==> begin send(GET); end;
-- src/proof/prover.c: uvzk__prover_request
rule "send proof" may_send() & contender = STANDING ==> begin send(PROOF); end;
rule "send read" may_send() ==> begin send(READ); end;
-- src/directory/settle/delete_batch.c: uvzk__delete_batches_send
rule "send delete" may_send() & contender = DELETING ==> begin send(DELETE); end;

rule "serve a read"
  link = UP & !done & (request = LIST | request = GET | request = READ)
==> begin
  done := true;
  touch();
  if request = LIST then look();
  elsif request = GET & stands(predecessor, view()) then found := predecessor; endif;
end;

rule "serve a write"
  link = UP & !done & is_write() & (server = LEADER | !cut) & alive
==> begin
  done := true;
  touch();
  found := commit(request, server);
  if request = BARRIER then no_stray(); endif;
end;

rule "serve a stray"
  stray != NOTHING & (stray_at = LEADER | !cut) & alive
==>
var node: node_t;
begin
  node := commit(stray, stray_at);
  no_stray();
end;

-- src/engine/submission.c: uvzk__answered
rule "reply" done ==>
var kind: kind_t; what: node_t; which: before_t;
begin
  kind := request; what := found; which := how;
  answered();
  if is_write() then committed(); endif;
  forget();
  switch kind
    case BARRIER: barrier := true;
    case CREATE:
      mine := what;
      contender := STANDING;
      if told = ENDED then contender := DELETING; endif;
    case LIST:
      if contender = UNKNOWN then
        mine := what;
        if what != 0 then
          contender := STANDING;
          if told = ENDED then contender := DELETING; endif;
        elsif told = ENDED then contender := GONE;
        else contender := CREATING; endif;
      elsif contender = STANDING then
        before := which;
        predecessor := what;
      endif;
    case GET:
      if contender = STANDING & what = 0 then
        if before = ONE then before := NOBODY; else before := NOT_KNOWN; endif;
        predecessor := 0;
      endif;
    case DELETE: node_gone();
  endswitch;
end;

-- src/directory/contender.c: uvzk__contender_session_ended
rule "session's end heard" link = DOWN & !alive & told != ENDED ==> begin
  session_over();
  told := ENDED;
  node_gone();
end;

rule "follower applies" applied < zxid & !cut ==> begin applied := applied + 1; end;
ruleset node: node_t do
rule "another one comes"
  node > OURS & made[node] = 0 & (node = OURS + 1 | made[node - 1] != 0) & zxid < ZXIDS
==> begin
  zxid := zxid + 1;
  made[node] := zxid;
  others_grant();
end;
rule "another one goes" node > OURS & stands(node, zxid) ==> begin remove(node); end;
endruleset;

invariant "two valid holds never" told = HOLDS & valid > 0 -> first() = 0 | is_ours(first());
invariant "a hold has its znode" told = HOLDS & valid > 0 -> stands(mine, zxid);
invariant "no orphan"
  forall node: node_t do
    is_ours(node) & stands(node, zxid) ->
      node = mine | contender = UNKNOWN | (contender = CREATING & request = CREATE)
  endforall;
