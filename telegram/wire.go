package telegram

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/pronto-lab/openclawd/channel"
)

// wire makes requests to Telegram for one bot, implemented with a library.
type wire interface {
	// ask makes one request, once. An error means that there was no answer; the answer then says whether the request
	// was sent. No error contains the token.
	ask(ctx context.Context, f form) (answer, error)
	// file is a request for the content of a file, by the path that Telegram gave for it. It contains the token, and must
	// not be shown.
	file(ctx context.Context, path string) (*http.Request, error)
}

type answer struct {
	sent   bool // a connection was available, so the request may have been sent
	status int
	body   []byte
}

// maxAnswer is the size limit of an answer, in bytes: a hundred updates of the largest size.
const maxAnswer = 16 << 20

// form is the request of a method of Telegram, one of the types below.
type form interface{ isForm() }

type (
	meForm struct{}

	// updatesForm requests updates from an id on, and confirms those before it. 0 confirms none.
	updatesForm struct {
		Offset  int64    `json:"offset,omitempty"`
		Limit   int      `json:"limit,omitempty"`
		Timeout int      `json:"timeout,omitempty"` // seconds
		Allowed []string `json:"allowed_updates,omitempty"`
	}

	setWebhookForm struct{ url, secret string }

	dropWebhookForm struct{}
	webhookForm     struct{} // asks for it

	sendForm struct {
		chat     int64
		topic    int
		text     string
		markdown bool
		replyTo  int
		keyboard json.RawMessage // rows of buttons; nil is none
		ask      bool            // the person's client begins a reply to it
		file     *channel.File   // posted instead of the text
		photo    bool            // the file is posted as a picture
	}

	editForm struct {
		chat     int64
		message  int
		text     string
		markdown bool
	}

	typingForm struct {
		chat  int64
		topic int
	}

	reactForm struct {
		chat    int64
		message int
		emoji   string // "" removes the bot's reaction
	}

	topicForm struct {
		chat int64
		name string
	}

	pressedForm struct {
		query string
		text  string
		alert bool
	}

	commandsForm    struct{}
	setCommandsForm struct{ commands []channel.Command }

	fileForm   struct{ id string }
	chatForm   struct{ chat int64 }
	memberForm struct{ chat, user int64 }
)

func (meForm) isForm()          {}
func (updatesForm) isForm()     {}
func (setWebhookForm) isForm()  {}
func (dropWebhookForm) isForm() {}
func (webhookForm) isForm()     {}
func (sendForm) isForm()        {}
func (editForm) isForm()        {}
func (typingForm) isForm()      {}
func (reactForm) isForm()       {}
func (topicForm) isForm()       {}
func (pressedForm) isForm()     {}
func (commandsForm) isForm()    {}
func (setCommandsForm) isForm() {}
func (fileForm) isForm()        {}
func (chatForm) isForm()        {}
func (memberForm) isForm()      {}
