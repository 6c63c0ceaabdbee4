-- A mutex: one client of ours in full, other contenders as early as they can be, a leader and a
-- follower behind it, and time in half ticks. README.md says what is modelled and what is not.
-- "-- src/...: f" above a rule is what of the library it stands for; `check` looks whether it is there.
-- `check` sets one WITH_ to 0 in a copy for each mutation.

const
  T: 3;
  T_LESS: 2;
  OURS: 2;
  OTHERS: 1;
  ZXIDS: 6;
  WITH_BARRIER: 1;
  WITH_PROOF: 1;
  WITH_CAP: 1;
  WITH_HALF_TICK: 1;
  WITH_HANDLE_ASKED: 1;

type
  age_t: 0..T;
  zxid_t: 0..ZXIDS;
  node_t: 0..(OURS + OTHERS);
  server_t: enum { LEADER, FOLLOWER };
  link_t: enum { DOWN, ATTACHED, HEARD, UP };
  kind_t: enum { NOTHING, BARRIER, CREATE, LIST, GET, PROOF, READ, DELETE };
  contender_t: enum { IDLE, CREATING, UNKNOWN, STANDING, DOOMED, GONE };
  told_t: enum { NONE, WAITS, HOLDS, ENDED };
  before_t: enum { NOT_KNOWN, ONE, SEVERAL, NOBODY };

var
  zxid: zxid_t;
  applied: zxid_t;
  cut: boolean;
  made: array [node_t] of zxid_t;
  gone: array [node_t] of zxid_t;
  alive: boolean;
  expires: age_t;
  reported: boolean;
  timeout: age_t;

  link: link_t;
  server: server_t;
  barrier: boolean;
  request: kind_t;
  sent: age_t;
  done: boolean;
  found: node_t;
  how: before_t;
  stray: kind_t;
  stray_at: server_t;

  contender: contender_t;
  mine: node_t;
  before: before_t;
  predecessor: node_t;
  told: told_t;
  valid: age_t;
  heard: array [age_t] of age_t;
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

procedure touch();
begin
  if server = LEADER then
    if alive then expires := timeout; endif;
  else
    reported := true;
  endif;
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

-- src/directory/listing.c: list_replied
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
  request := NOTHING;
  sent := 0;
  done := false;
  found := 0;
  how := NOT_KNOWN;
end;

-- src/directory/node.c: uvzk__node_unwanted
procedure unwanted();
begin
  told := ENDED;
  if contender = CREATING & request != CREATE then
    contender := GONE;
  elsif contender = STANDING then
    contender := DOOMED;
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

-- src/proof/proof.c: record
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

procedure lost();
begin
  if (request = CREATE | request = DELETE) & !done then
    stray := request;
    stray_at := server;
  endif;
  if request = CREATE then contender := UNKNOWN; endif;
  forget();
  link := DOWN;
  server := LEADER;
  barrier := false;
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

startstate begin
  clear zxid; clear applied; clear cut; clear made; clear gone;
  alive := true;
  expires := T;
  clear reported;
  timeout := T;
  link := UP;
  server := LEADER;
  clear barrier;
  request := NOTHING; clear sent; clear done; clear found; how := NOT_KNOWN;
  stray := NOTHING; clear stray_at;
  contender := IDLE; clear mine; before := NOT_KNOWN; clear predecessor;
  told := NONE; clear valid; clear heard; clear token;
end;

-- src/claim/acquire.c: uvzk_lock_acquire
rule "acquire" contender = IDLE ==> begin contender := CREATING; told := WAITS; end;
-- src/directory/contender.c: uvzk__contender_unwanted
rule "give up" told = WAITS ==> begin unwanted(); end;
-- src/directory/contender.c: uvzk__contender_unwanted
rule "release" told = HOLDS ==> begin unwanted(); end;
rule "again" contender = GONE & told = ENDED & alive & unmade() != 0 ==>
begin contender := IDLE; told := NONE; end;

-- src/directory/succession.c: voucher_of
rule "grant"
  contender = STANDING & told = WAITS & before = NOBODY & valid > 0
==> begin
  told := HOLDS;
  assert made[mine] > token "tokens rise";
  token := made[mine];
end;

-- src/proof/prover.c: uvzk__prover_check
rule "lose by time" told = HOLDS & valid = 0 ==> begin unwanted(); end;

-- src/engine/barrier.c: uvzk__barrier_ask
rule "send barrier" link = UP & request = NOTHING & !barrier & WITH_BARRIER = 1 ==> begin send(BARRIER); end;
-- src/directory/contender.c: uvzk__contender_create
rule "send create" may_send() & contender = CREATING & unmade() != 0 ==> begin send(CREATE); end;
-- src/directory/listing.c: uvzk__listing_start
rule "send search" may_send() & contender = UNKNOWN ==> begin send(LIST); end;
-- src/directory/listing.c: uvzk__listing_start
rule "send listing" may_send() & contender = STANDING & before = NOT_KNOWN ==> begin send(LIST); end;
-- src/directory/predecessor.c: uvzk__predecessor_watch
rule "send get" may_send() & contender = STANDING & (before = ONE | before = SEVERAL) ==> begin send(GET); end;
-- src/proof/prover.c: uvzk__prover_want
rule "send proof" may_send() & contender = STANDING ==> begin send(PROOF); end;
rule "send read" may_send() ==> begin send(READ); end;
-- src/directory/sweep.c: uvzk__sweep
rule "send delete" may_send() & contender = DOOMED ==> begin send(DELETE); end;

rule "serve a read"
  link = UP & !done & (request = LIST | request = GET | request = READ)
==> begin
  done := true;
  touch();
  if request = LIST then look();
  elsif request = GET & stands(predecessor, view()) then found := predecessor; endif;
end;

rule "serve a write"
  link = UP & !done & (request = BARRIER | request = CREATE | request = PROOF | request = DELETE) &
  (server = LEADER | !cut) & alive
==> begin
  done := true;
  touch();
  found := commit(request, server);
  if request = BARRIER then stray := NOTHING; stray_at := LEADER; endif;
end;

rule "serve a stray"
  stray != NOTHING & (stray_at = LEADER | !cut) & alive
==>
var node: node_t;
begin
  node := commit(stray, stray_at);
  stray := NOTHING;
  stray_at := LEADER;
end;

-- src/engine/submission.c: uvzk__answered
rule "reply" done ==>
var kind: kind_t; what: node_t; which: before_t;
begin
  kind := request; what := found; which := how;
  answered();
  if kind = BARRIER | kind = CREATE | kind = PROOF | kind = DELETE then committed(); endif;
  forget();
  switch kind
    case BARRIER: barrier := true;
    case CREATE:
      mine := what;
      contender := STANDING;
      if told = ENDED then contender := DOOMED; endif;
    case LIST:
      if contender = UNKNOWN then
        mine := what;
        if what != 0 then
          contender := STANDING;
          if told = ENDED then contender := DOOMED; endif;
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

-- src/client/lifecycle.c: suspended
rule "connection lost" link != DOWN ==> begin lost(); end;

ruleset at: server_t do
rule "attach"
  link = DOWN & contender != GONE & alive & (at = LEADER | !cut)
==> begin
  link := ATTACHED;
  server := at;
  expires := timeout;
  if stray_at != at then stray := NOTHING; stray_at := LEADER; endif;
end;

-- src/proof/proof.c: uvzk__proof_connected
rule "attach, T shrinks"
  link = DOWN & contender != GONE & alive & (at = LEADER | !cut) & timeout = T
==> begin
  link := UP;
  server := at;
  timeout := T_LESS;
  expires := T_LESS;
  for n: age_t do
    if heard[n] >= timeout then heard[n] := T; endif;
  endfor;
  if WITH_CAP = 1 & valid > T_LESS then valid := T_LESS; endif;
  if stray_at != at then stray := NOTHING; stray_at := LEADER; endif;
end;
endruleset;

rule "handle hears" link = ATTACHED ==> begin link := HEARD; end;
-- src/client/lifecycle.c: connected
rule "loop hears" link = HEARD ==> begin link := UP; end;

-- loop/handle.c: uvzk__handle_leave
rule "handle replaced"
  link = HEARD & WITH_HANDLE_ASKED = 0 & (server = LEADER | !cut)
==> begin
  end_session();
  lost();
end;

-- src/directory/contender.c: uvzk__contender_session_ended
rule "session's end heard" link = DOWN & !alive & told != ENDED ==> begin
  valid := 0;
  told := ENDED;
  stray := NOTHING;
  stray_at := LEADER;
  for n: age_t do heard[n] := T; endfor;
  reported := false;
  timeout := T;
  node_gone();
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

rule "follower applies" applied < zxid & !cut ==> begin applied := applied + 1; end;
rule "follower is cut off" !cut ==> begin cut := true; end;
rule "follower is back" cut ==> begin
  cut := false;
  reported := false;
  if server = FOLLOWER & link != DOWN then lost(); endif;
end;

rule "session expires" alive & expires = 0 ==> begin end_session(); end;

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
