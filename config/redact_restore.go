package config

import (
	"errors"
	"slices"
	"strings"
)

// restorer resolves Redacted in what a client has sent.
type restorer struct {
	base  *Document
	found func(sent, stored *value) // stored is nil where an included file sets it
}

// restorePatch replaces Redacted in a patch by stored secrets, and removes what an included file sets.
func (d *Document) restorePatch(patch *value) error {
	r := &restorer{d, func(sent, stored *value) {
		if stored == nil {
			sent.unset = true
			return
		}
		sent.kind, sent.text, sent.items, sent.members, sent.index = stored.kind, stored.text, nil, nil, nil
	}}
	if err := r.walk(patch, d.tree, d.config.tree, nil); err != nil {
		return d.shownError(err)
	}
	prune(patch)
	return nil
}

// shownError removes secrets from the path of an *EditError.
func (d *Document) shownError(err error) error {
	if edit, ok := errors.AsType[*EditError](err); ok {
		return &EditError{d.hide.within(edit.Path), edit.Message, edit.Hint}
	}
	return err
}

func prune(v *value) {
	kept := v.members[:0]
	for _, m := range v.members {
		if m.value.unset {
			delete(v.index, m.key)
			continue
		}
		prune(m.value)
		kept = append(kept, m)
	}
	v.members = kept
	for _, item := range v.items {
		prune(item)
	}
}

// restoreText replaces Redacted in a text by stored secrets, as written in the file.
func (d *Document) restoreText(raw string) (string, error) {
	if _, err := readRaw(raw); err != nil {
		return "", err
	}
	content := strings.TrimPrefix(raw, byteOrderMark)
	root, comments := parseAll("raw", content, newReport())
	var edits []edit
	r := &restorer{d, func(sent, stored *value) {
		if stored != nil {
			edits = append(edits, edit{sent.span, d.text()[stored.from:stored.to]})
		}
	}}
	if err := r.walk(root, d.tree, nil, nil); err != nil {
		return "", d.shownError(err)
	}
	edits = append(edits, d.restoreComments(content, comments)...)
	return strings.TrimSuffix(raw, content) + apply(content, edits), nil
}

// restoreComments restores comments that equal the shown form of the file's. Others stay.
func (d *Document) restoreComments(content string, comments []span) (edits []edit) {
	own := d.text()
	hidden := map[string][]string{}
	for _, gap := range gaps(own, d.comments) {
		for _, e := range d.hide.comments(own, gap) {
			hidden[e.text] = append(hidden[e.text], own[e.from:e.to])
		}
	}
	for _, c := range comments {
		shown := content[c.from:c.to]
		if stored := hidden[shown]; len(stored) > 0 {
			edits = append(edits, edit{c, stored[0]})
			hidden[shown] = stored[1:]
		}
	}
	return edits
}

// walk visits what was sent together with the main file's and the whole configuration's value in the same place.
func (r *restorer) walk(sent, stored, whole *value, at *path) error {
	switch sent.kind {
	case text:
		return r.text(sent, stored, whole, at)
	case list:
		return r.list(sent, stored, whole, at)
	case object:
		for _, e := range sent.entries {
			if strings.Contains(e.key, Redacted) {
				return &EditError{at.String(), "a key is " + Redacted, "write the key itself"}
			}
			if err := r.walk(e.value, child(stored, e.key), child(whole, e.key), at.member(e.key)); err != nil {
				return err
			}
		}
	}
	return nil
}

func child(v *value, key string) *value {
	if v == nil || v.index[key] == nil {
		return nil
	}
	return v.index[key].value
}

func (r *restorer) text(sent, stored, whole *value, at *path) error {
	isScalar := func(v *value) bool { return v != nil && v.kind != list && v.kind != object }
	switch {
	case sent.text != Redacted && strings.Contains(sent.text, Redacted):
		return &EditError{at.String(), Redacted + " is a part of this text", "send it alone to keep the stored value, or write the whole text"}
	case sent.text != Redacted:
	case isScalar(stored):
		r.found(sent, stored)
	case isScalar(whole):
		r.found(sent, nil)
	default:
		return &EditError{at.String(), "there is no stored value that " + Redacted + " could stand for", "write the value itself, or leave the key out"}
	}
	return nil
}

func (r *restorer) list(sent, stored, whole *value, at *path) error {
	own, all := r.stored(stored), r.stored(whole)
	for i, item := range sent.items {
		if !holds(item, Redacted) {
			continue
		}
		own, ok := own.counterpart(sent, i)
		if all, there := all.counterpart(sent, i); own == nil && there {
			if err := r.walk(item, nil, all, at.item(i)); err != nil {
				return err
			}
			continue
		}
		if !ok {
			return &EditError{at.item(i).String(), "it is unknown which entry of the stored list " + Redacted + " refers to",
				"write the values themselves"}
		}
		if err := r.walk(item, own, nil, at.item(i)); err != nil {
			return err
		}
	}
	return nil
}

// storedList is a list of the file, indexed by ids and shown forms.
type storedList struct {
	items []*value
	byID  map[string]int
	alike map[string][]int // by shown form
}

// stored is nil where there is no list.
func (r *restorer) stored(v *value) *storedList {
	if v == nil || v.kind != list {
		return nil
	}
	l := &storedList{v.items, placesOf(v), map[string][]int{}}
	for i, item := range v.items {
		shown := shownAs(r.base.hide.tree(item))
		l.alike[shown] = append(l.alike[shown], i)
	}
	return l
}

func shownAs(v *value) string { return string(canonical(v, strings.NewReplacer())) }

// counterpart is the stored entry that corresponds to a sent one: the one with its id, else the one with the same
// shown form, else, in a list of the same length, the one at its index.
func (l *storedList) counterpart(sent *value, i int) (entry *value, ok bool) {
	if l == nil {
		return nil, false
	}
	item := sent.items[i]
	if id := idOf(item); id != "" {
		k, there := l.byID[id]
		if !there {
			return nil, false
		}
		return l.items[k], true
	}
	alike := l.alike[shownAs(item)]
	switch {
	case len(alike) == 1:
		return l.items[alike[0]], true
	case len(l.items) == len(sent.items) && (len(alike) == 0 || slices.Contains(alike, i)):
		return l.items[i], true
	}
	return nil, false
}

func holds(v *value, s string) bool {
	return v.kind == text && strings.Contains(v.text, s) ||
		slices.ContainsFunc(v.entries, func(e entry) bool { return strings.Contains(e.key, s) || holds(e.value, s) })
}
