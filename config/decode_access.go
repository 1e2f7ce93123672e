package config

import (
	"slices"
	"strings"
)

// Keys of Access in the three channels.
var (
	discordAccess  = []string{"groupPolicy", "guilds", "dmPolicy", "dm", "allowFrom"}
	telegramAccess = []string{"groupPolicy", "groups", "groupAllowFrom", "dmPolicy", "allowFrom"}
	slackAccess    = []string{"groupPolicy", "channels", "dmPolicy", "dm", "allowFrom"}
)

// ownAccess reads the settings that an account has instead of its channel's, as in OpenClaw: key by key. It is nil if the
// account has none.
func ownAccess(channel, account *fields, keys []string, decode func(*fields) Access) *Access {
	if account.schema != nil {
		decode(account)
		return nil
	}
	account.knows(keys...)
	merged, own := newObject(position{}), []*path{}
	for _, key := range keys {
		of := channel
		if account.object.get(key) != nil {
			of = account
			own = append(own, account.at.member(key))
		}
		if of.object != nil && of.object.index[key] != nil {
			m := of.object.index[key]
			merged.members, merged.index[key] = append(merged.members, m), m
		}
	}
	if len(own) == 0 {
		return nil
	}
	found := newReport()
	access := decode(&fields{report: found, at: account.at, object: merged})
	for _, f := range found.kept {
		if slices.ContainsFunc(own, func(p *path) bool { return strings.HasPrefix(f.Path, p.String()) }) { // others are said of the channel
			account.report.add(f)
		}
	}
	return &access
}

// direct reads whose direct messages are answered, with the form dm of earlier versions.
func (f *fields) direct(users func(*fields, string) []string, others ...string) (policy string, allowFrom []string) {
	dm := f.within("dm")
	policies := []string{"", "pairing", "allowlist", "open", "disabled"}
	policy, older := f.choice("dmPolicy", policies...), dm.choice("policy", policies...)
	if policy == "" {
		policy = older
	}
	switch {
	case !dm.flag("enabled", true):
		policy = "disabled"
	case policy == "":
		policy = "pairing"
	}
	allowFrom = append(users(f, "allowFrom"), users(dm, "allowFrom")...)
	dm.others(others...)
	dm.done()
	return policy, allowFrom
}

// optionalFlag is a flag that may be left out; nil if it is.
func (f *fields) optionalFlag(key string) *bool {
	if is := f.flag(key, false); f.object.get(key) != nil {
		return &is
	}
	return nil
}

// listed are the users or roles of a list; noUser if the list is not empty and names none that can be one.
func (f *fields) listed(key string, read func(*fields, string) []string) []string {
	all := read(f, key)
	if v := f.object.get(key); len(all) == 0 && v != nil && (v.kind != list || len(v.items) > 0) {
		return []string{noUser}
	}
	return all
}

// isSet reports whether a place has a setting besides its id.
func (p *Room) isSet() bool {
	return p.Closed || p.RequireMention != nil || len(p.Users)+len(p.Roles) > 0
}

func sortRooms(all []Room) {
	slices.SortFunc(all, func(a, b Room) int { return strings.Compare(a.ID, b.ID) })
}
