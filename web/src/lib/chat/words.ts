import { dictionary, words, type Word } from '../i18n/index.svelte';
import { withParticle } from '../i18n/particles';

/** Texts of the composer and of everything that speaks to agents. */
export const w = words({
  talk: {
    ko: (name: string) => `${withParticle(name, '과/와')} 이야기`,
    en: (name: string) => `Chat with ${name}`,
  },
  message: { ko: (name: string) => `${name}에게 보낼 메시지`, en: (name: string) => `Message to ${name}` },
  send: { ko: '보내기', en: 'Send' },
  since: { ko: (time: string) => `${time}부터`, en: (time: string) => `since ${time}` },
  stop: { ko: '멈춤', en: 'Stop' },
  newLine: { ko: '줄바꿈', en: 'new line' },
  commandsFor: { ko: '명령', en: 'commands' },
  commands: { ko: '명령 목록', en: 'Commands' },
  tooLong: {
    ko: (most: string) => `너무 깁니다. ${most}자까지 보낼 수 있습니다.`,
    en: (most: string) => `Too long: at most ${most} characters can be sent.`,
  },
  follow: {
    ko: '이 서버는 다른 게이트웨이의 기록을 따라 읽기만 합니다(--follow). 에이전트는 그 게이트웨이에 있으니 거기서 말해 주세요.',
    en: 'This server only follows the log of another gateway (--follow). The agents are there: talk to them there.',
  },
  noGateway: {
    ko: '이 서버는 게이트웨이 없이 실행 중이라 에이전트에게 말할 수 없습니다. serve를 --gateway 127.0.0.1:18789와 함께 실행하세요.',
    en: 'This server runs without a gateway, so agents cannot be spoken to. Start serve with --gateway 127.0.0.1:18789.',
  },
  role: {
    ko: '읽기 권한만 있는 세션이라 메시지를 보낼 수 없습니다.',
    en: 'This session may only read, so it cannot send messages.',
  },
  notInPast: {
    ko: '과거를 보고 있어서 메시지를 보낼 수 없습니다.',
    en: 'You are looking at the past, so nothing can be sent.',
  },
  logIn: { ko: '다른 토큰으로 로그인', en: 'Log in with another token' },
  stepIn: { ko: '대화에 끼어들기', en: 'Step into the conversation' },
  stepInText: {
    ko: (mark: string) => `사람이 보낸 메시지로 표시되어(${mark}) 고른 에이전트의 세션으로 갑니다.`,
    en: (mark: string) => `It goes to the session of each chosen agent, marked as a person's (${mark}).`,
  },
  receives: { ko: '받는 에이전트', en: 'Receives it' },
  chooseOne: { ko: '받을 에이전트를 고르세요.', en: 'Choose who receives it.' },
  sendTo: { ko: (names: string) => `${names}에게 보내기`, en: (names: string) => `Send to ${names}` },
  several: {
    ko: (count: number, names: string) => `${names}: 에이전트 ${count}명이 같은 메시지를 받고 각자 답합니다.`,
    en: (count: number, names: string) => `${names}: ${count} agents get the same message, and each of them answers.`,
  },
  back: { ko: '돌아가기', en: 'Go back' },
  close: { ko: '닫기', en: 'Close' },
  sending: { ko: '보내는 중', en: 'Sending' },
  sent: { ko: (name: string) => `${name}에게 보냄`, en: (name: string) => `Sent to ${name}` },
  notSent: { ko: '보내지 못함', en: 'Not sent' },
  answerThere: { ko: '채팅에서 답 보기', en: 'See the answer in the chat' },
  again: { ko: '다시 보내기', en: 'Send again' },
  discard: { ko: '버리기', en: 'Discard' },
});

/** What commands do, by name; unknown ones have the gateway's own text. */
export const commandTexts = dictionary<Record<string, Word>>({
  help: { ko: '명령을 보여 줍니다', en: 'lists the commands' },
  status: { ko: '세션과 게이트웨이의 상태', en: 'state of the session and the gateway' },
  queue: { ko: '차례를 기다리는 것', en: 'what waits for its turn' },
  new: {
    ko: '세션을 새로 시작합니다. 이전 기록은 남습니다',
    en: 'starts the session over; the old transcript is kept',
  },
  reset: { ko: 'new와 같습니다', en: 'the same as new' },
  model: { ko: '모델을 보거나 고릅니다', en: 'shows or chooses the model' },
  think: { ko: '생각하는 정도를 보거나 정합니다', en: 'shows or sets the thinking level' },
  verbose: { ko: '도구 호출을 얼마나 보일지 정합니다', en: 'shows or sets how much is shown of tool calls' },
  stop: { ko: '이 세션의 실행을 멈춥니다', en: "stops the session's runs" },
});
