package telegramtest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// tidy trims a text, and its entities with it.
func tidy(text string, entities []Entity) (string, []Entity) {
	left := strings.TrimLeft(text, " \t\r\n")
	shift := units(text[:len(text)-len(left)])
	text = strings.TrimRight(left, " \t\r\n")
	all, n := []Entity{}, units(text)
	for _, e := range entities {
		from, to := max(e.Offset-shift, 0), min(e.Offset-shift+e.Length, n)
		if to <= from {
			continue
		}
		e.Offset, e.Length = from, to-from
		all = append(all, e)
	}
	return text, all
}

// detected are the entities that Telegram finds in a text by itself. The first group is the entity.
var detected = []struct {
	told    string
	pattern *regexp.Regexp
}{
	{"bot_command", regexp.MustCompile(`(?:^|[^\w/@])(/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?)`)},
	{"mention", regexp.MustCompile(`(?:^|[^\w@/.])(@[A-Za-z0-9_]{3,32})`)},
	{"url", regexp.MustCompile(`(https?://[^\s<>"]+[^\s<>".,;:!?)])`)},
	{"hashtag", regexp.MustCompile(`(?:^|[^\w&])(#\pL[\pL\pN_]*)`)},
}

// detect adds the entities that Telegram finds by itself, outside of given ones that exclude them, and completes users.
func (s *Server) detect(text string, given []Entity) []Entity {
	all := slices.Clone(given)
	for i := range all {
		if all[i].User == nil {
			continue
		}
		if who := s.accounts[all[i].User.ID]; who != nil {
			all[i].User = &who.User
		} else {
			all[i].Type = "" // Telegram drops mentions of unknown users
		}
	}
	all = slices.DeleteFunc(all, func(e Entity) bool { return e.Type == "" })
	for _, d := range detected {
		for _, at := range d.pattern.FindAllStringSubmatchIndex(text, -1) {
			e := Entity{Type: d.told, Offset: units(text[:at[2]]), Length: units(text[at[2]:at[3]])}
			if !slices.ContainsFunc(all, func(other Entity) bool { return excludes(other, e) }) {
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Entity) int { return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length)) })
	if len(all) == 0 {
		return nil
	}
	return all
}

// excludes reports whether nothing is detected in an entity.
func excludes(given, found Entity) bool {
	overlap := given.Offset < found.Offset+found.Length && found.Offset < given.Offset+given.Length
	return overlap && slices.Contains([]string{"code", "pre", "text_link", "text_mention", "mention", "bot_command", "url", "hashtag"}, given.Type)
}

// cut returns a part of a text, by UTF-16 units.
func cut(text string, offset, length int) string {
	all := utf16.Encode([]rune(text))
	if offset < 0 || length < 0 || offset+length > len(all) {
		return ""
	}
	return string(utf16.Decode(all[offset : offset+length]))
}

func sameEntity(a, b Entity) bool {
	same := a.Type == b.Type && a.Offset == b.Offset && a.Length == b.Length && a.URL == b.URL && a.Language == b.Language
	return same && (a.User == nil) == (b.User == nil) && (a.User == nil || a.User.ID == b.User.ID)
}
