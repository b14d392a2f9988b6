// SPDX-License-Identifier: MIT
// The worker's side of the conversation: a request has a number, its answer has the same.
let model = null;
const answers = {
  async open({ text }) {
    const { header, buffer } = await unpack(text);
    model = new Model(header, buffer);
    return model.forPage();
  },
  statistics: () => model.statistics(),
  tree({ thread, from, until, inverted }) {
    const tree = model.tree(thread, from, until);
    return inverted ? upsideDown(tree) : tree;
  },
};
self.onmessage = async ({ data }) => {
  try {
    const answer = await answers[data.what](data);
    const result = answer.transfer ? answer.result : answer;
    self.postMessage({ number: data.number, result }, answer.transfer || []);
  } catch (error) {
    self.postMessage({ number: data.number, error: String((error && error.message) || error) });
  }
};
