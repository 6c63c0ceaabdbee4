#!/usr/bin/env ruby
# SPDX-License-Identifier: Apache-2.0
# mutex.rb SOCKET PATH STEPS: works while it holds a mutex through `uvzk serve`.
require 'io/wait'
require 'json'
require 'socket'
$stdout.sync = true

def now # ms, by the clock of valid_until_ms
  Process.clock_gettime(Process::CLOCK_BOOTTIME, :float_millisecond)
end

def ask(request, until_ms = nil)
  $program.puts({ id: 1, **request }.to_json)
  in_time = $program.wait_readable(until_ms && [0, until_ms - now].max / 1000)
  answer = JSON.parse(in_time && $program.gets || '{}', symbolize_names: true)
  answer[:ok] ? answer : abort('lost') # an error, a loss, the end, or no answer in time
rescue Errno::EPIPE, Errno::ECONNRESET
  abort('lost')
end

socket, path, steps = ARGV
$program = UNIXSocket.new(socket)
held = ask({ op: 'acquire', path: path })
puts "acquired, token #{held[:token]}"
steps.to_i.times do |step|
  held = ask({ op: 'valid', hold: held[:hold] }, held[:valid_until_ms])
  sleep 0.1 # the work: it takes less time than the hold is valid
  puts "step #{step + 1}"
end
ask({ op: 'release', hold: held[:hold] })
puts 'released'
