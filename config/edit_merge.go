package config

import (
	"fmt"
	"slices"
)

// patched returns base with a patch applied, by the rules of Patch.
func patched(base, patch *value) *value {
	switch {
	case byID(base, patch):
		merged := &value{kind: list, at: base.at, items: slices.Clone(base.items)}
		places := placesOf(base)
		for _, item := range patch.items {
			if k, there := places[idOf(item)]; there {
				merged.items[k] = patched(base.items[k], item)
			} else {
				merged.items = append(merged.items, stripped(item))
			}
		}
		return merged
	case patch.kind != object:
		return stripped(patch)
	case base == nil || base.kind != object:
		return stripped(patch)
	}
	merged := newObject(base.at)
	for _, m := range base.members {
		over := child(patch, m.key)
		switch {
		case over == nil:
			merged.set(&member{m.key, m.at, m.value})
		case over.kind != null:
			merged.set(&member{m.key, m.at, patched(m.value, over)})
		}
	}
	for _, m := range patch.members {
		if base.index[m.key] == nil && m.value.kind != null {
			merged.set(&member{m.key, m.at, stripped(m.value)})
		}
	}
	return merged
}

// stripped is v without what null deletes in a patch. In lists null is a value, but not in entries that are merged by
// id.
func stripped(v *value) *value {
	switch {
	case byID(v, v):
		kept := &value{kind: list, at: v.at}
		for _, item := range v.items {
			kept.items = append(kept.items, stripped(item))
		}
		return kept
	case v.kind != object:
		return v
	}
	kept := newObject(v.at)
	for _, m := range v.members {
		if m.value.kind != null {
			kept.set(&member{m.key, m.at, stripped(m.value)})
		}
	}
	return kept
}

// byID reports whether a list is merged by id: each entry of both is an object with an id. An empty list replaces.
func byID(base, patch *value) bool {
	lacks := func(v *value) bool { return idOf(v) == "" }
	return base != nil && base.kind == list && patch.kind == list && len(base.items) > 0 && len(patch.items) > 0 &&
		!slices.ContainsFunc(base.items, lacks) && !slices.ContainsFunc(patch.items, lacks)
}

func idOf(v *value) string {
	if v == nil || v.kind != object {
		return ""
	}
	id := child(v, "id")
	if id == nil || id.kind != text {
		return ""
	}
	return id.text
}

// placesOf maps ids to the first list entry with that id.
func placesOf(v *value) map[string]int {
	places := map[string]int{}
	for i, item := range slices.Backward(v.items) {
		places[idOf(item)] = i
	}
	return places
}

func checkIDs(base, patch *value, at *path) error {
	if byID(base, patch) {
		places, own := placesOf(base), placesOf(patch)
		for i, item := range patch.items {
			if own[idOf(item)] < i {
				return &EditError{at.item(i).String(), "this id occurs twice", "give each id once"}
			}
			if k, there := places[idOf(item)]; there {
				if err := checkIDs(base.items[k], item, at.item(i)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if patch.kind == object {
		for _, m := range patch.members {
			if err := checkIDs(child(base, m.key), m.value, at.member(m.key)); err != nil {
				return err
			}
		}
	}
	return nil
}

func same(a, b *value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case null:
		return true
	case number:
		one, _ := jsonNumber(a.text)
		other, _ := jsonNumber(b.text)
		return one == other
	case list:
		return slices.EqualFunc(a.items, b.items, same)
	case object:
		return len(a.members) == len(b.members) &&
			!slices.ContainsFunc(a.members, func(m *member) bool { return b.index[m.key] == nil || !same(m.value, b.index[m.key].value) })
	}
	return a.text == b.text
}

// differences visits the innermost settings that differ. Lists of different lengths differ as a whole.
func differences(a, b *value, at *path, visit func(*path)) {
	switch {
	case a == nil && b == nil:
	case a == nil && b.kind == object && len(b.members) > 0:
		differences(newObject(b.at), b, at, visit)
	case b == nil && a.kind == object && len(a.members) > 0:
		differences(a, newObject(a.at), at, visit)
	case a == nil || b == nil:
		visit(at)
	case a.kind == object && b.kind == object:
		for _, m := range a.members {
			differences(m.value, child(b, m.key), at.member(m.key), visit)
		}
		for _, m := range b.members {
			if a.index[m.key] == nil {
				differences(nil, m.value, at.member(m.key), visit)
			}
		}
	case a.kind == list && b.kind == list && len(a.items) == len(b.items):
		for i := range a.items {
			differences(a.items[i], b.items[i], at.item(i), visit)
		}
	case !same(a, b):
		visit(at)
	}
}

// checkOutside refuses a patch that changes settings of included files, and removes from it what they already contain.
// joined is the tree of all files before variables; nil without includes.
func (d *Document) checkOutside(patch *value) (joined *value, err error) {
	if at := includeIn(patch, nil); at != nil {
		return nil, &EditError{at.String(), "a patch cannot include a file", "write $include into the file itself"}
	}
	if err := checkIDs(d.tree, patch, nil); err != nil {
		return nil, d.shownError(err)
	}
	if includeIn(d.tree, nil) == nil {
		return nil, nil
	}
	if joined = d.joined(); joined == nil || joined.kind != object {
		return nil, &EditError{Message: "what the file includes cannot be read", Hint: "fix that first, or replace all of it"}
	}
	return joined, d.outside(patch, d.tree, joined, nil)
}

// joined is the tree of all files before variables.
func (d *Document) joined() *value {
	root := parse(d.path, d.file.content, newReport())
	if root == nil {
		return nil
	}
	joined, _ := include(d.path, root, newReport())
	return joined
}

func includeIn(v *value, at *path) *path {
	for i, e := range v.entries {
		within := at.item(i)
		if v.kind == object {
			within = at.member(e.key)
			if e.key == includeKey {
				return within
			}
		}
		if found := includeIn(e.value, within); found != nil {
			return found
		}
	}
	return nil
}

func (d *Document) outside(patch, own, joined *value, at *path) error {
	kept := patch.members[:0]
	for _, m := range patch.members {
		here, whole, within := child(own, m.key), child(joined, m.key), at.member(m.key)
		switch {
		case whole == nil:
		case m.value.kind == object && whole.kind == object:
			if err := d.outside(m.value, here, whole, within); err != nil {
				return err
			}
			if here == nil && len(m.value.members) == 0 {
				delete(patch.index, m.key)
				continue
			}
		case here == nil && same(m.value, whole):
			delete(patch.index, m.key)
			continue
		case here == nil || here.kind == object && here.index[includeKey] != nil:
			return &EditError{d.hide.within(within.String()), fmt.Sprintf("this is set in %s, which the configuration includes", whole.at.file),
				"change it in that file"}
		}
		kept = append(kept, m)
	}
	patch.members = kept
	return nil
}

// checkJoined refuses a change that included files override.
func (d *Document) checkJoined(want *value) error {
	joined := d.joined()
	if joined != nil && same(joined, want) {
		return nil
	}
	where := ""
	differences(joined, want, nil, func(at *path) {
		if where == "" {
			where = d.hide.within(at.String())
		}
	})
	return &EditError{where, "an included file sets this too and overrides the change", "change it in that file"}
}
