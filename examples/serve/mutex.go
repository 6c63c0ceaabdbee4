/* SPDX-License-Identifier: Apache-2.0 */
// mutex.go SOCKET PATH STEPS: works while it holds a mutex through `uvzk serve`.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

type object map[string]any
type answer struct {
	Ok                bool
	Hold, Token       int64
	Valid_for_ms      int64
	until             time.Time // by Go's clock, CLOCK_MONOTONIC
}

var program net.Conn
var answers *json.Decoder

func ask(request object, until time.Time) (a answer) {
	sent := time.Now() // before the request
	program.SetReadDeadline(until)
	json.NewEncoder(program).Encode(request)
	if answers.Decode(&a) != nil || !a.Ok {
		fmt.Fprintln(os.Stderr, "lost") // an error, a loss, the end, or no answer in time
		os.Exit(1)
	}
	a.until = sent.Add(time.Duration(a.Valid_for_ms) * time.Millisecond)
	return a
}

func main() {
	program, _ = net.Dial("unix", os.Args[1])
	answers = json.NewDecoder(program)
	steps, _ := strconv.Atoi(os.Args[3])
	held := ask(object{"id": 1, "op": "acquire", "path": os.Args[2]}, time.Time{})
	fmt.Println("acquired, token", held.Token)
	for step := 1; step <= steps; step++ {
		held = ask(object{"id": 1, "op": "valid", "hold": held.Hold}, held.until)
		time.Sleep(100 * time.Millisecond) // the work: it takes less time than the hold is valid
		fmt.Println("step", step)
	}
	ask(object{"id": 1, "op": "release", "hold": held.Hold}, held.until)
	fmt.Println("released")
}
