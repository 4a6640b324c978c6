// The answers that this page shows. `veriscene site` writes another file in its place.

import { HttpAnswers } from "./http.js";

export const answers = new HttpAnswers();
export const links = { API: "docs" };
