//go:build !linux

package main

import "os"

// exitNoFilter says that the system does not let a process take system calls away from itself.
const exitNoFilter = 99

// onFailingDevice runs nothing: only Linux can answer a process as a failing device would.
func onFailingDevice() { os.Exit(exitNoFilter) }
