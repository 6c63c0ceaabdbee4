#!/usr/bin/env php
<?php
// SPDX-License-Identifier: Apache-2.0
// mutex.php SOCKET PATH STEPS: works while it holds a mutex through `uvzk serve`.
function ask($request, $until = null) {
    global $program;
    $sent = hrtime(true) / 1e6; // before the request; CLOCK_MONOTONIC, in ms
    stream_set_timeout($program, 86400);
    if ($until) {
        $left = max(1, (int)($until - $sent));
        stream_set_timeout($program, intdiv($left, 1000), $left % 1000 * 1000);
    }
    @fwrite($program, json_encode(['id' => 1] + $request) . "\n");
    $answer = json_decode((string)fgets($program), true);
    if (empty($answer['ok'])) {
        fwrite(STDERR, "lost\n"); // an error, a loss, the end, or no answer in time
        exit(1);
    }
    return $answer + ['until' => $sent + ($answer['valid_for_ms'] ?? 0)];
}

[, $socket, $path, $steps] = $argv;
$program = stream_socket_client("unix://$socket");
$held = ask(['op' => 'acquire', 'path' => $path]);
echo "acquired, token {$held['token']}\n";
for ($step = 1; $step <= $steps; $step++) {
    $held = ask(['op' => 'valid', 'hold' => $held['hold']], $held['until']);
    usleep(100000); // the work: it takes less time than the hold is valid
    echo "step $step\n";
}
ask(['op' => 'release', 'hold' => $held['hold']]);
echo "released\n";
