package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fields reads an object's settings. Each method returns the value of a key, or the default if it is not set; a value
// of the wrong type is reported and gives the default too. done reports unknown keys.
type fields struct {
	report *report
	at     *path
	object *value // nil if not set
	known  []string
	schema *schemaNode // this object's schema, if keys are only listed; else nil
}

func (f *fields) get(key string) *value {
	f.known = append(f.known, key)
	f.schema.member(key).read()
	return f.object.get(key)
}

// others declares keys for features of OpenClaw that openclawd does not have; those set are listed.
func (f *fields) others(keys ...string) { f.list(NotBuilt, keys) }

// aside declares keys of OpenClaw without a meaning here; those set are listed.
func (f *fields) aside(keys ...string) { f.list(NoMatter, keys) }

func (f *fields) list(group Group, keys []string) {
	for _, key := range keys {
		if slices.Contains(f.known, key) {
			continue
		}
		f.knows(key)
		if f.object != nil && f.object.index[key] != nil {
			f.report.unsupported.add(group, f.object.index[key], f.at.member(key))
		}
	}
}

func (f *fields) knows(keys ...string) {
	f.known = append(f.known, keys...)
	for _, key := range keys {
		f.schema.member(key)
	}
}

func (f *fields) needs(keys ...string) {
	f.schema.needs(keys)
	for _, key := range keys {
		m := f.object.index[key]
		if m == nil || m.value.kind == null || m.value.kind == text && m.value.text == "" && !m.value.unset { // else already reported
			at := f.object.at
			if m != nil {
				at = m.value.at
			}
			f.report.add(failure(CodeValue, at, f.at.member(key), "this is required", "set it, or remove what it belongs to"))
		}
	}
}

// done reports every key that was neither read nor declared.
func (f *fields) done() {
	if f.object == nil {
		return
	}
	for _, m := range f.object.members {
		if !slices.Contains(f.known, m.key) {
			f.unknown(m)
		}
	}
}

func (f *fields) unknown(m *member) {
	hint := "remove it, or leave it if another program reads it"
	if near := nearest(m.key, f.known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	f.report.add(warning(CodeUnknownKey, m.at, f.at.member(m.key), "unknown key; it has no effect", hint))
}

// within returns the object at a key. It is never nil: missing settings have their defaults.
func (f *fields) within(key string) *fields {
	return f.below(f.get(key), f.at.member(key)).listing(f.schema.member(key).object())
}

// listing lets f list its keys in schema, if not nil. f then reads an empty object.
func (f *fields) listing(schema *schemaNode) *fields {
	if schema != nil {
		f.schema, f.object = schema, newObject(position{})
	}
	return f
}

func (f *fields) below(v *value, at *path) *fields {
	if v != nil && v.kind != object {
		f.wrong(v, at, object.String())
		v = nil
	}
	return &fields{report: f.report, at: at, object: v}
}

func (f *fields) each(key string, visit func(*fields)) {
	at := f.at.member(key)
	if schema := f.schema.member(key).entries(); schema != nil {
		visit(f.below(nil, at.item(0)).listing(schema))
	}
	for i, item := range f.items(key) {
		if item.kind == object {
			visit(f.below(item, at.item(i)))
		} else {
			f.wrong(item, at.item(i), object.String())
		}
	}
}

// named visits the objects in an object, in file order, with their keys.
func (f *fields) named(key string, visit func(name string, f *fields)) {
	all := f.within(key)
	if schema := f.schema.member(key).named(); schema != nil {
		visit("name", f.below(nil, all.at.named("name")).listing(schema))
	}
	if all.object == nil {
		return
	}
	for _, m := range all.object.members {
		if m.value.kind != null {
			visit(m.key, f.below(m.value, all.at.named(m.key)))
		}
	}
}

func (f *fields) items(key string) []*value {
	v := f.get(key)
	f.schema.member(key).is("array")
	if v == nil {
		return nil
	}
	if v.kind != list {
		f.wrong(v, f.at.member(key), list.String())
		return nil
	}
	return v.items
}

func (f *fields) text(key, otherwise string) string {
	v := f.get(key)
	f.schema.member(key).is("string").otherwise(otherwise)
	switch {
	case v == nil:
		return otherwise
	case v.kind != text:
		f.wrong(v, f.at.member(key), text.String())
		return otherwise
	}
	return v.text
}

func (f *fields) texts(key string) []string {
	var all []string
	f.schema.member(key).of("string")
	for i, item := range f.items(key) {
		if item.kind == text {
			all = append(all, item.text)
		} else {
			f.wrong(item, f.at.member(key).item(i), text.String())
		}
	}
	return all
}

// textsOr is texts where the key is set, else the ones that are given.
func (f *fields) textsOr(key string, otherwise ...string) []string {
	f.schema.member(key).otherwise(otherwise)
	if all := f.texts(key); f.object.get(key) != nil {
		return all
	}
	return otherwise
}

// id reads an id: a text, or an integer, whose digits are preserved. Loss of digits in other programs is reported
// elsewhere.
func (f *fields) id(key string) string {
	v := f.get(key)
	f.schema.member(key).is("string", "integer")
	if v == nil {
		return ""
	}
	return f.idOf(v, f.at.member(key))
}

func (f *fields) ids(key string) []string {
	var all []string
	f.schema.member(key).of("string", "integer")
	for i, item := range f.items(key) {
		if id := f.idOf(item, f.at.member(key).item(i)); id != "" {
			all = append(all, id)
		}
	}
	return all
}

func (f *fields) idOf(v *value, at *path) string {
	switch v.kind {
	case text:
		return v.text
	case number:
		if digits, ok := jsonNumber(v.text); ok && !strings.ContainsAny(digits, ".eE-") {
			return digits
		}
	}
	f.wrong(v, at, "an id in quotes")
	return ""
}

func (f *fields) flag(key string, otherwise bool) bool {
	v := f.get(key)
	f.schema.member(key).is("boolean").otherwise(otherwise)
	switch {
	case v == nil:
		return otherwise
	case v.kind != boolean:
		f.wrong(v, f.at.member(key), boolean.String())
		return otherwise
	}
	return v.text == "true"
}

func (f *fields) count(key string, otherwise, least, most int) int {
	v := f.get(key)
	f.schema.member(key).is("integer").otherwise(otherwise).bounds(least, most)
	if v == nil {
		return otherwise
	}
	at := f.at.member(key)
	if v.kind != number {
		f.wrong(v, at, number.String())
		return otherwise
	}
	n, ok := wholeNumber(v.text)
	if !ok || n < int64(least) || n > int64(most) {
		f.invalid(v, at, fmt.Sprintf("is not a whole number from %d to %d", least, most), fmt.Sprintf("write one, such as %d", otherwise))
		return otherwise
	}
	return int(n)
}

// duration reads a duration: a number of milliseconds, or a text such as 90s, 2m or 24h.
func (f *fields) duration(key string, otherwise time.Duration) time.Duration {
	v := f.get(key)
	f.schema.member(key).is("string", "integer").otherwise(otherwise.Milliseconds())
	if v == nil {
		return otherwise
	}
	at := f.at.member(key)
	var d time.Duration
	ok := false
	switch v.kind {
	case number:
		var ms int64
		if ms, ok = wholeNumber(v.text); ok {
			d = time.Duration(ms) * time.Millisecond
			ok = d.Milliseconds() == ms
		}
	case text:
		d, ok = parseDuration(v.text)
	default:
		f.wrong(v, at, "a time")
		return otherwise
	}
	if !ok || d < 0 {
		f.invalid(v, at, "is not a duration", "write milliseconds as a number, or a text such as 90s, 2m, 24h or 7d")
		return otherwise
	}
	return d
}

// parseDuration supports days in addition to time.ParseDuration.
func parseDuration(s string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// choice reads one of several texts; the first is the default.
func (f *fields) choice(key string, options ...string) string {
	v := f.get(key)
	f.schema.member(key).is("string").otherwise(options[0]).oneOf(options)
	if v == nil {
		return options[0]
	}
	at := f.at.member(key)
	if v.kind != text {
		f.wrong(v, at, text.String())
		return options[0]
	}
	if slices.Contains(options, v.text) {
		return v.text
	}
	hint := "use " + oneOf(options)
	if near := nearest(v.text, options); near != "" && !v.secret {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	f.invalid(v, at, "is not an allowed value", hint)
	return options[0]
}

func oneOf(options []string) string {
	named := slices.DeleteFunc(slices.Clone(options), func(o string) bool { return o == "" })
	last := len(named) - 1
	return strings.Join(named[:last], ", ") + " or " + named[last]
}

// secret reads a secret text. An object that refers to a secret store is "": it is for another program.
func (f *fields) secret(key string) Secret { return f.secretOr(key, warning) }

// ownSecret reads a secret used only by openclawd. A reference to a secret store would protect nothing, which is an
// error.
func (f *fields) ownSecret(key string) Secret { return f.secretOr(key, failure) }

func (f *fields) secretOr(key string, unbound func(code string, at position, path *path, message, hint string) Finding) Secret {
	v := f.get(key)
	f.schema.member(key).hidden()
	switch {
	case v == nil:
		return ""
	case v.kind == object && v.get("source") != nil:
		f.report.add(unbound(CodeUnbound, v.at, f.at.member(key), "openclawd cannot resolve a reference to a secret store",
			"write the secret as ${NAME} and set the variable NAME, if openclawd is to use it"))
		return ""
	case v.kind != text:
		f.wrong(v, f.at.member(key), text.String())
		return ""
	}
	return Secret(v.text)
}

func (f *fields) wrong(v *value, at *path, want string) {
	hint := "write " + want
	if want == text.String() && (v.kind == number || v.kind == boolean) {
		hint = "put it in quotes"
	}
	one := failure(CodeType, v.at, at, fmt.Sprintf("%s was expected, not %s", want, v.kind), hint)
	one.Value = v.shown()
	f.report.add(one)
}

func (f *fields) invalid(v *value, at *path, message, hint string) {
	one := failure(CodeValue, v.at, at, v.shown()+" "+message, hint)
	one.Value = v.shown()
	f.report.add(one)
}
