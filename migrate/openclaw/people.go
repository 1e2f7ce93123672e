package openclaw

import (
	"context"
	"path"
	"strings"
)

// Person may write direct messages to the agents of a channel.
type Person struct {
	Place   string
	Channel string
	Account string // "": all accounts of the channel
	Entry   string // user id, perhaps with a prefix
}

const (
	credentials  = "credentials"
	allowSuffix  = "-allowFrom.json"
	usualAccount = "default"
	allowTable   = "channel_pairing_allow_entries"
)

// People visits the people that were paired. Those that the configuration lists stay there.
func (s *Source) People(ctx context.Context, visit func(*Person) error) error {
	if s.known(statePath) { // who was revoked is still in the older files
		d := s.stateDatabase(ctx, allowTable+".channel_key", allowTable+".account_id", allowTable+".entry", allowTable+".sort_order")
		if d == nil {
			return ctx.Err()
		}
		for _, row := range d.list(3, "SELECT channel_key, account_id, entry FROM "+allowTable+" ORDER BY channel_key, account_id, sort_order, entry") {
			p := &Person{Place: statePath + "#" + row[0] + ":" + row[2], Channel: row[0], Account: row[1], Entry: row[2]}
			if err := s.person(p, visit); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	for _, name := range s.names(credentials) {
		of, isList := strings.CutSuffix(name, allowSuffix)
		if !isList {
			continue
		}
		var file struct{ AllowFrom []string }
		place := path.Join(credentials, name)
		if !s.ReadJSON(place, &file) {
			continue
		}
		channel, account, _ := strings.Cut(of, "-")
		for _, entry := range file.AllowFrom {
			if err := s.person(&Person{Place: place + "#" + entry, Channel: channel, Account: account, Entry: entry}, visit); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func (s *Source) person(p *Person, visit func(*Person) error) error {
	if p.Account == usualAccount {
		p.Account = ""
	}
	return visit(p)
}
