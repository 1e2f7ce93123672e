// Command packaging makes the packages of a release from programs that are already built: archives, .deb and .rpm, packages for npm, bills of
// materials, checksums and their signature. The same programs give the same bytes. `make release` runs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("packaging", flag.ContinueOnError)
	r := release{source: ".", say: func(text string) { fmt.Println(text) }}
	flags.StringVar(&r.dist, "dist", "dist", "`DIR` with the programs in bin, where packages are written")
	names := flags.String("platforms", "", "`OS/ARCH` of the programs, separated by spaces (default: all)")
	flags.StringVar(&r.version, "version", "", "version of the packages (default: the one in the program for linux/amd64)")
	seconds := flags.Int64("time", 0, "time of all files, in `SECONDS` of Unix time")
	nfpm := flags.String("nfpm", "nfpm", "`COMMAND` that makes .deb and .rpm")
	bills := flags.String("cyclonedx", "cyclonedx-gomod", "`COMMAND` that makes bills of materials")
	minisign := flags.String("minisign", "minisign", "`COMMAND` that signs")
	flags.StringVar(&r.key, "key", "", "minisign's secret key `FILE`, outside the repository; without one nothing is signed")
	flags.StringVar(&r.publicKey, "public-key", "", "minisign's public `KEY`, with which install.sh verifies (default: that of -key)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if r.platforms, err = choosePlatforms(*names); err != nil {
		return err
	}
	r.time = time.Unix(*seconds, 0).UTC()
	r.nfpm, r.bills, r.minisign = strings.Fields(*nfpm), strings.Fields(*bills), strings.Fields(*minisign)
	if len(r.nfpm) == 0 || len(r.bills) == 0 || len(r.minisign) == 0 {
		return errors.New("a command is empty")
	}
	return r.make()
}
