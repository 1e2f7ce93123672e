package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/server"
)

// service is a server for tests of a channel's service, with the person, and the bots of the cast.
type service interface {
	// settings are those of the channel in openclaw.json.
	settings() string
	// serve directs a program to the server.
	serve(o *server.Options)
	// connected returns when all bots are connected.
	connected(ctx context.Context) error
	// say has the person write in a place. An agent's name after an @ mentions it.
	say(in, text string) error
	// show has the person post a file in the channel, with a text as for say.
	show(text string, f file) error
	// written are the messages of people and bots in a place, oldest first, with the names of those whom they mention. What only opens a
	// thread is left out.
	written(in string) []message
	// threads are the names of the threads, in the order in which they were opened.
	threads() []string
	// link is the address of a message of a thread for browsers, "" for none.
	link(id string) string
	// until waits until something is so, and looks whenever something happens in the service.
	until(ctx context.Context, so func() bool) error
	close() error
}

// message is a message by its id in the log.
type message struct{ id, author, text string }

// newService starts the server of a channel.
func newService(channel string, now func() time.Time) (service, error) {
	switch channel {
	case coordination.Discord:
		return newDiscord(now)
	case coordination.Telegram:
		return newTelegram(now)
	case coordination.Slack:
		return newSlack(now)
	}
	return nil, fmt.Errorf("there is no channel %q: name discord, telegram or slack", channel)
}

// threadIndex is the number of a place that is a thread, from 0; -1 for the channel.
func threadIndex(in string) int {
	switch in {
	case inThread:
		return 0
	case inSecond:
		return 1
	}
	return -1
}
