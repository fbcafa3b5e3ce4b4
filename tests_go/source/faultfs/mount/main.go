// Command mount mounts a directory at another place, where opening one of its files hangs:
//
//	mount DIRECTORY POINT NAME
//
// It says "mounted" once it is, lets the opening go on when its input says a line, and unmounts at its end.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/goloader/goloader/tests_go/source/faultfs"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: mount DIRECTORY POINT NAME")
		os.Exit(2)
	}
	f, unmount, err := faultfs.MountAt(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	until := make(chan struct{})
	f.OnOpen(os.Args[3], faultfs.Fault{Hang: until})
	fmt.Println("mounted")
	input := bufio.NewScanner(os.Stdin)
	if input.Scan() {
		close(until)
		fmt.Println("let go")
		for input.Scan() {
		}
	} else {
		close(until)
	}
	if err := unmount(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
