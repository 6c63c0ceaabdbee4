-- SPDX-License-Identifier: Apache-2.0
-- A semaphore: one client of ours in full, with up to two claims of a lease each, and others' leases as early as they
-- can be, between session.m and session_rules.m. README.md says what is modelled and what is not. "-- src/...: f" and
-- WITH_ as in mutex.m; `check` sets OURS, OTHERS and T.

const
  LEASES: 2;
  OURS: 2;
  OTHERS: 1;
  LAG: 2;
  WITH_OWN: 1;
  WITH_LISTING: 1;

type
  ours_t: 1..OURS;
  count_t: 0..(OURS + OTHERS);
  entry_t: enum { EMPTY, OURS_1, OURS_2, ONE_MORE, ONE_LESS };
  lease_t: enum { NONE, CREATING, UNKNOWN, MADE, COUNTED, HELD, DELETING };

var
  others: count_t;
  granted: count_t;
  shown_others: count_t;
  stands: array [ours_t] of boolean;
  shown: array [ours_t] of boolean;
  log: array [1..LAG] of entry_t;

  lease: array [ours_t] of lease_t;
  wanted: array [ours_t] of boolean;
  found: array [ours_t] of boolean;
  found_others: count_t;
  found_number: boolean;
  foreign: count_t;
  mark: boolean;
  unseen: boolean;

procedure others_grant();
var count: count_t;
begin
  count := others;
  for n: ours_t do
    if stands[n] then count := count + 1; endif;
  endfor;
  if count <= LEASES then granted := others; endif;
end;

function has_room(): boolean;
begin
  return log[LAG] = EMPTY;
end;

procedure write_log(entry: entry_t);
var written: boolean;
begin
  written := false;
  for n := 1 to LAG do
    if log[n] = EMPTY & !written then
      log[n] := entry;
      written := true;
    endif;
  endfor;
end;

function entry_of(n: ours_t): entry_t;
begin
  if n = 1 then return OURS_1; else return OURS_2; endif;
end;

function in_log(entry: entry_t): boolean;
begin
  for n := 1 to LAG do
    if log[n] = entry then return true; endif;
  endfor;
  return false;
end;

procedure apply_first();
begin
  switch log[1]
    case OURS_1: shown[1] := !shown[1];
    case OURS_2: shown[OURS] := !shown[OURS];
    case ONE_MORE: shown_others := shown_others + 1;
    case ONE_LESS: shown_others := shown_others - 1;
  endswitch;
  for n := 1 to LAG - 1 do log[n] := log[n + 1]; endfor;
  log[LAG] := EMPTY;
end;

procedure commit(kind: kind_t; node: which_t; at: server_t);
begin
  if kind = CREATE then
    stands[node] := true;
    write_log(entry_of(node));
  elsif kind = DELETE & stands[node] then
    stands[node] := false;
    write_log(entry_of(node));
  endif;
  others_grant();
  if at = FOLLOWER then
    for n := 1 to LAG do apply_first(); endfor;
  endif;
end;

-- src/directory/settle/listing.c: list_replied
procedure look();
begin
  if server = LEADER then
    found := stands;
    found_others := others;
    unseen := false;
  else
    found := shown;
    found_others := shown_others;
    unseen := in_log(ONE_MORE);
  endif;
end;

procedure no_mark();
begin
  mark := false;
  unseen := false;
  foreign := 0;
end;

procedure forget();
begin
  request_over();
  clear found;
  found_others := 0;
  found_number := false;
  if !mark then no_mark(); endif;
end;

procedure no_lease();
begin
  for n: ours_t do lease[n] := NONE; endfor;
  clear wanted;
  no_mark();
end;

procedure request_lost();
begin
  if request = CREATE then lease[which] := UNKNOWN; endif;
  mark := false;
end;

procedure end_session();
begin
  alive := false;
  expires := 0;
  clear stands;
  others_grant();
  if valid = 0 then -- it ends here: there is no other session
    link := DOWN;
    session_over();
    forget();
    no_lease();
    clear shown; clear shown_others; clear barrier; server := LEADER;
    for n := 1 to LAG do log[n] := EMPTY; endfor;
    clear others; clear granted;
  endif;
end;

function needs_session(): boolean;
begin
  return exists n: ours_t do lease[n] != NONE endexists;
end;

-- src/locks/semaphore/leases.c: uvzk__leases_out
function leases_out(): count_t;
var count: count_t;
begin
  count := foreign;
  for n: ours_t do
    if lease[n] = UNKNOWN | lease[n] = DELETING |
       (WITH_OWN = 1 & (lease[n] = MADE | lease[n] = COUNTED | lease[n] = HELD)) then
      count := count + 1;
    endif;
  endfor;
  return count;
end;

function holds(): count_t;
var count: count_t;
begin
  count := granted;
  for n: ours_t do
    if lease[n] = HELD then count := count + 1; endif;
  endfor;
  return count;
end;

procedure given_up(n: ours_t);
begin
  if lease[n] = MADE | lease[n] = COUNTED | lease[n] = HELD then
    lease[n] := DELETING;
  elsif lease[n] = CREATING & which != n then
    lease[n] := NONE;
  else
    wanted[n] := false;
  endif;
  if lease[n] = DELETING | lease[n] = NONE then wanted[n] := false; endif;
end;

-- src/locks/semaphore/leases.c: count_made
procedure count_made();
var out: count_t;
begin
  out := leases_out();
  for n := OURS to 1 by -1 do
    if lease[n] = MADE & out > LEASES then
      lease[n] := DELETING;
      wanted[n] := false;
      out := out - 1;
    endif;
  endfor;
  if out <= LEASES then
    for n: ours_t do
      if lease[n] = MADE then lease[n] := COUNTED; endif;
    endfor;
  endif;
end;

procedure stands_now(n: ours_t);
begin
  if wanted[n] then lease[n] := MADE; else lease[n] := DELETING; endif;
end;

startstate begin
  session_begins();
  clear others; clear granted; clear shown_others; clear stands; clear shown;
  for n := 1 to LAG do log[n] := EMPTY; endfor;
  for n: ours_t do lease[n] := NONE; endfor;
  clear wanted; clear found; clear found_others; clear found_number;
  clear foreign; clear mark; clear unseen;
end;

ruleset n: ours_t do
-- src/claim/acquire.c: uvzk_lock_acquire
rule "acquire" alive & lease[n] = NONE ==> begin lease[n] := CREATING; wanted[n] := true; end;
-- src/locks/semaphore/lease_request.c: uvzk__lease_request_return
rule "give up or release" wanted[n] ==> begin given_up(n); end;
-- src/locks/semaphore/leases.c: uvzk__leases_take_offers
rule "hand on" lease[n] = HELD ==> begin lease[n] := COUNTED; end;
-- src/locks/semaphore/leases.c: grant_or_prove
rule "grant" lease[n] = COUNTED & valid > 0 ==> begin lease[n] := HELD; end;
-- src/proof/prover.c: uvzk__prover_check
rule "lose by time" lease[n] = HELD & valid = 0 ==> begin given_up(n); end;
-- src/locks/semaphore/lease_batch.c: send_batch
rule "send create" may_send() & lease[n] = CREATING & !stands[n] & !shown[n] & !in_log(entry_of(n))
==> begin send(CREATE); which := n; end;
-- src/directory/settle/delete_batch.c: uvzk__delete_batches_send
rule "send delete" may_send() & lease[n] = DELETING ==> begin send(DELETE); which := n; end;
endruleset;

-- src/locks/semaphore/leases.c: wants_listing
rule "send listing" may_send() & exists n: ours_t do lease[n] = UNKNOWN | lease[n] = MADE endexists
==> begin send(LIST); end;
-- src/proof/prover.c: uvzk__prover_request
rule "send proof" may_send() & exists n: ours_t do lease[n] = COUNTED | lease[n] = HELD endexists
==> begin send(PROOF); end;

rule "serve a read" link = UP & !done & request = LIST ==> begin
  done := true;
  touch();
  look();
end;

rule "serve a write" link = UP & !done & is_write() & (server = LEADER | !cut) & alive & has_room() ==> begin
  done := true;
  touch();
  commit(request, which, server);
  if request = CREATE then found_number := mark & (!unseen | WITH_LISTING = 0); endif;
  if request = BARRIER then no_stray(); endif;
end;

rule "serve a stray" stray != NOTHING & (stray_at = LEADER | !cut) & alive & has_room() ==> begin
  commit(stray, stray_of, stray_at);
  no_stray();
end;

-- src/engine/submission.c: uvzk__answered
rule "reply" done ==>
var kind: kind_t; node: which_t; number: boolean; it: array [ours_t] of boolean; seen_others: count_t;
begin
  kind := request; node := which; number := found_number; it := found; seen_others := found_others;
  answered();
  if is_write() then committed(); endif;
  if kind = LIST then mark := true; endif;
  forget();
  switch kind
    case BARRIER: barrier := true;
    case CREATE:
      stands_now(node);
      if number then count_made(); else no_mark(); endif;
    case LIST:
      foreign := seen_others;
      for n: ours_t do
        if lease[n] = UNKNOWN then
          if it[n] then stands_now(n);
          elsif wanted[n] then lease[n] := CREATING;
          else lease[n] := NONE; endif;
        endif;
      endfor;
      count_made();
    case DELETE: lease[node] := NONE;
  endswitch;
end;

-- src/directory/contender.c: uvzk__contender_session_ended
rule "session's end heard" link = DOWN & !alive & needs_session() ==> begin
  session_over();
  no_lease();
end;

rule "follower applies" log[1] != EMPTY & !cut ==> begin apply_first(); end;
rule "another one comes" others < OTHERS & has_room() ==> begin
  others := others + 1;
  write_log(ONE_MORE);
  if mark | (request = LIST & done) then unseen := true; endif;
  others_grant();
end;
ruleset it_was_granted: boolean do
rule "another one goes"
  others > 0 & has_room() & (it_was_granted -> granted > 0) & (!it_was_granted -> granted < others)
==> begin
  others := others - 1;
  if it_was_granted then granted := granted - 1; endif;
  write_log(ONE_LESS);
  others_grant();
end;
endruleset;

invariant "never more valid holds than leases"
  valid = 0 | holds() <= LEASES;
invariant "a hold has its znode"
  forall n: ours_t do lease[n] = HELD & valid > 0 -> stands[n] endforall;
invariant "no orphan lease"
  forall n: ours_t do
    stands[n] -> lease[n] != NONE & (lease[n] = CREATING -> request = CREATE & which = n)
  endforall;
