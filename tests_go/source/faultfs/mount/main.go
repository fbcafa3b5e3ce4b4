// Command mount mounts a directory at another place, slower than it is, or with a file whose opening hangs:
//
//	mount [-delay 50ms] [-hang NAME] DIRECTORY POINT
//
// It says "mounted" once it is, lets the opening go on when its input says a line, and unmounts at its end.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"

	"github.com/goloader/goloader/tests_go/source/faultfs"
)

func main() {
	delay := flag.Duration("delay", 0, "of each opening, and of each reading")
	hang := flag.String("hang", "", "name of the file whose opening hangs")
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1), faultfs.Fault{Delay: *delay}, *hang); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(directory, point string, always faultfs.Fault, hang string) error {
	f, unmount, err := faultfs.MountAt(directory, point)
	if err != nil {
		return err
	}
	f.OnOpen("", always)
	f.OnRead("", always)
	until := make(chan struct{})
	if hang != "" {
		f.OnOpen(hang, faultfs.Fault{Hang: until})
	}
	fmt.Println("mounted")
	input := bufio.NewScanner(os.Stdin)
	if input.Scan() {
		fmt.Println("let go")
	}
	close(until)
	for input.Scan() {
	}
	return unmount()
}
