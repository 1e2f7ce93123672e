// Package demo plays a script in which agents work together in a thread of a channel. It runs the real program; its bots
// connect to a server for tests of the channel's service in this process, and a script supplies what the agents say. It
// needs no key, no network and no account, and leaves no files.
//
// It prints each message and, below it, which agents handled or observed it and why, as GET /api/routing/:messageId
// reports it.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Options of Run.
type Options struct {
	Channel  string        // discord, telegram or slack
	Program  string        // openclawd to ask why; "": none
	API      string        // address of the API
	Patience time.Duration // for the play
	Keep     bool          // after the play have files posted, and wait until ctx ends, so that the page can be looked at
}

// Run sets up the stage, plays the script, waits if it is to be kept, and cleans up. An error says what came out otherwise.
func Run(ctx context.Context, o Options, out io.Writer) error {
	playing, cancel := context.WithTimeoutCause(ctx, o.Patience, fmt.Errorf("not finished after %s", o.Patience))
	defer cancel()
	s, err := openStage(playing, o.Channel, o.API)
	if err != nil {
		return err
	}
	p := &play{stage: s, out: out, scene: scene()}
	err = p.perform(playing)
	if err == nil && o.Program != "" {
		err = p.why(playing, o.Program, p.heard[asked])
	}
	if err == nil && o.Keep {
		if err = p.showFiles(); err == nil {
			p.keep(ctx)
		}
	}
	if err != nil {
		err = fmt.Errorf("%w%s", err, s.warnings())
	}
	return errors.Join(err, s.close())
}
