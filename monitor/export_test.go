package monitor

// SelfEncoding returns answers that encode themselves, with values that fill sets.
func SelfEncoding(fill func(answer any)) []any {
	list := []any{&sessionsAnswer{}, &sessionDetail{Session: &sessionAnswer{}}, &sessionDetail{Session: &sessionAnswer{}, detailRest: detailRest{pageAnswer: &pageAnswer{}}}, &eventsAnswer{}}
	for _, answer := range list {
		fill(answer)
	}
	return list
}

// Encode encodes an answer.
func Encode(answer any) ([]byte, error) { return encode(answer) }
